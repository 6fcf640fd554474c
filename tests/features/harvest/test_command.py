"""``browsereval harvest``, from the run to the exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.features.harvest.wanderer import CONFTEST, strip_solution
from tests.hooks.launched import wait_for
from tests.hooks.small_evals import Evals, row

PAGE = (
    "<title>Shop</title><button onclick=\"document.title='Hats'\">Hats</button>"
    "<label>Code <input id=code type=password></label><p>It costs $64.00</p>"
    '<button onclick="document.body.dataset.code=code.value.length">Send</button>'
)
HATS: dict[str, Any] = {
    "start_url": "{shop}/",
    "graders": ["page_state"],
    "checks": [{"js": "document.title", "equals": "Hats"}],
}
SITES = {"shop": {"static": "site"}}
DONE = {"tool": "done", "answer": "Done."}
CLICK = {"tool": "click", "target": 'role=button[name="Hats"]'}


def wander(evals: Evals, rows: list[dict[str, Any]], *args: str, **keys: Any) -> Path:
    """Have the agent that knows the solutions of rows take its ways, and return the run."""
    evals.write_rows(*rows, name="ways.jsonl")
    evals.write_rows(*map(strip_solution, rows))
    (evals.path / "conftest.py").write_text(CONFTEST)
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(PAGE)
    agent = {"type": "wanderer", "ways": str(evals.path / "ways.jsonl")}
    evals.write_config(**{"variants": {"default": agent}, "browser": "playwright", "sites": SITES, **keys})
    return evals.run("shop.eval.yaml", *args).folder


def harvested(evals: Evals, run: Path, code: int, *args: str) -> tuple[dict[str, Any], dict[str, str], str]:
    """Return the solutions that the command writes, the refusals, and what it prints."""
    result = evals.run_command(
        "harvest", str(run), "--to=rows", "--out=new.jsonl", "--json=report.json", *args
    )
    assert result.ret == code, result.stdout.str() + result.stderr.str()
    report = json.loads((evals.path / "report.json").read_text())
    file = evals.path / "new.jsonl"
    rows = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    refused = {one["query_id"]: one["reason"] for one in report["refused"]}
    return {one["query_id"]: one for one in rows}, refused, result.stdout.str()


@pytest.mark.slow
def test_a_way_is_cut_and_proved(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of failed calls, looks and detours nothing is left; of a variable its name; the row is as it was."""
    monkeypatch.setenv("DOOR_CODE", "tulip-9-tulip")
    price: dict[str, Any] = {
        "start_url": "{shop}/",
        "answer": 64,
        "graders": [{"type": "answer", "match": "number"}],
    }
    code: dict[str, Any] = {
        "start_url": "{shop}/",
        "graders": ["page_state"],
        "checks": [{"js": "document.body.dataset.code", "equals": "13"}],
    }
    fill = {"tool": "fill", "target": "label=Code", "text": "${DOOR_CODE}"}
    rows = [
        row("hats", **HATS) | {"solution": [{"tool": "hover", "target": "text=Send"}, CLICK, DONE]},
        row("price", **price) | {"solution": [{"tool": "done", "answer": "It is $64.00"}]},
        row("code", **code) | {"solution": [fill, {"tool": "click", "target": "text=Send"}, DONE]},
    ]
    trusted = [{"path": "rows.jsonl", "trusted": True}]
    run = wander(evals, rows, dataset=trusted, variables=["DOOR_CODE"])
    found, refused, printed = harvested(evals, run, 0)
    assert not refused
    assert "3 of 3 rows harvested in new.jsonl" in printed
    assert found["hats"]["solution"] == [CLICK, DONE]
    assert found["price"]["solution"][-2:] == [
        {"tool": "wait_for_text", "text": "$64.00"},
        {"tool": "done", "answer": "It is $64.00"},
    ]
    typed = {"tool": "fill", "target": 'role=textbox[name="Code"]', "text": "${DOOR_CODE}"}
    assert found["code"]["solution"] == [typed, {"tool": "click", "target": 'role=button[name="Send"]'}, DONE]
    assert [strip_solution(found[one["query_id"]]) for one in rows] == [*map(strip_solution, rows)]
    assert "tulip" not in (evals.path / "new.jsonl").read_text() + (evals.path / "report.json").read_text()
    dataset = json.dumps([{"path": "new.jsonl", "trusted": True}])
    again = evals.run("shop.eval.yaml", "--eval-agent=scripted", f"--eval-set=dataset={dataset}")
    again.assert_outcomes(passed=3)


@pytest.mark.slow
def test_rows_are_refused_by_name(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its reason, in the report and on the terminal; the exit code is 1."""
    monkeypatch.setenv("DOOR_CODE", "tulip-9-tulip")
    solved = {"solution": [CLICK, DONE]}
    once = evals.path / "once"
    (evals.path / "verify.py").write_text(
        "import json, pathlib\nprint(json.dumps({'pass': not pathlib.Path('once').exists()}))\n"
    )
    rows = [
        row("good", **HATS) | solved,
        row("failed", says="left"),
        row("changed", **HATS) | solved,
        row("gone", **HATS) | solved,
        row("secret", **HATS, protected=True) | solved,
        row("idle", graders=["page_state"], checks=[{"text": "Hats"}], start_url="{shop}/"),
        row("once", graders=[{"type": "command", "command": ["{python}", "verify.py"]}], start_url="{shop}/"),
        row("hidden", **HATS)
        | {"solution": [{"tool": "fill", "target": "#code", "text": "tulip-9-tulip"}, CLICK, DONE]},
        row("chained", depends_on=["good"], **HATS) | solved,
    ]
    trusted = [{"path": "rows.jsonl", "trusted": True}]
    run = wander(evals, rows, dataset=trusted, variables=["DOOR_CODE"])
    once.touch()
    kept = [{**one, "query": "Other"} if one["query_id"] == "changed" else one for one in rows]
    evals.write_rows(*(strip_solution(one) for one in kept if one["query_id"] != "gone"))
    found, refused, printed = harvested(evals, run, 1)
    assert found.keys() == {"good"}
    begins = {
        "failed": "no attempt of it passed",
        "changed": "the row has changed since the run",
        "gone": "the config no longer has such a row",
        "secret": "it is protected",
        "idle": "the agent `noop` passes as well",
        "once": "its known way does not pass again: ",
        "hidden": "the log hides a secret",
        "chained": "it depends on another row, so its way cannot be proved alone",
    }
    assert refused.keys() == begins.keys()
    for name, begin in begins.items():
        assert refused[name].startswith(begin)
        assert f"{name}: {begin}" in " ".join(printed.split())
    assert "1 of 9 rows harvested" in printed


def test_what_is_typed_is_checked_first(evals: Evals) -> None:
    """Nothing is played where the file is there, the run or its config is not, or a word is wrong."""
    evals.play([row("a")])
    run = evals.run_folder()
    new = ("--to=rows", "--out=new.jsonl")
    rows, tests = "--to rows writes a new file named like *.jsonl", "named like test_*.py"
    for args, said in (
        ((str(run), "--to=rows", "--out=rows.jsonl"), rows),
        ((str(run), "--to=rows", "--out=new.csv"), rows),
        ((str(run), "--to=pytest", "--out=shop.py"), tests),
        (("no-such-run", *new), "no-such-run"),
        ((str(run), "--to=row", "--out=new.jsonl"), "invalid choice: 'row'"),
        ((str(run), *new, "--config=other.yaml"), "other.yaml"),
    ):
        result = evals.run_command("harvest", *args)
        assert result.ret in (2, 4)
        assert said in result.stderr.str()
    for key, value in (("config_file", None), ("config_folder", ".")):  # a run of others brings no code
        manifest = json.loads((run / "manifest.json").read_text())
        (run / "shop.eval.yaml").write_text("agent: noop\n")
        (run / "manifest.json").write_text(json.dumps({**manifest, key: value}))
        result = evals.run_command("harvest", str(run), *new)
        assert result.ret == 4
        assert "Name it with --config FILE" in result.stderr.str()
    assert not (evals.path / "new.jsonl").exists()


@pytest.mark.slow
def test_a_signal_leaves_no_folder_behind(evals: Evals) -> None:
    """A job that is cancelled ends as by Ctrl-C, after the pytest that it has started."""
    run = wander(evals, [row("hats", **HATS) | {"solution": [CLICK, DONE]}])
    (temp := evals.path / "temp").mkdir()
    begin = (
        "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_DFL); "
        "from pytest_browsereval.__main__ import main; sys.exit(main())"
    )
    words = ("harvest", str(run), "--to=rows", f"--out={evals.path / 'new.jsonl'}")
    command = [sys.executable, "-c", begin, *words]
    with subprocess.Popen(command, cwd=evals.path, env={**os.environ, "TMPDIR": str(temp)}) as process:
        wait_for(lambda: list(temp.glob("browsereval-harvest-*/scripted-*/runs")), "it plays")
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 130
    assert not list(temp.glob("*harvest*"))
    assert not (evals.path / "new.jsonl").exists()
