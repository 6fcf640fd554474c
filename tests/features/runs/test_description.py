"""``browsereval runs RUN``: what a run was made of, from its folder alone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.model.display import width_of
from pytest_browsereval.run.manifest import manifest
from tests.labelled import grade, graded, write_run
from tests.recorded import FAILED, PASSED, change_line, write_summary

SECRET = "sk-0123456789abcdef"

CONFIG = """
agent:
  type: orchestrator-executor
  orchestrator: {provider: openai, model: gpt-4o, api_key: OPENAI_API_KEY}
  executor: {provider: openai, model: gpt-4o-mini, api_key: OPENAI_API_KEY}
dataset: [{type: jsonl, path: rows.jsonl, select: {limit: 5}}]
graders: [webvoyager, {type: answer, advisory: true}]
judge: {provider: openai, model: o4-mini, api_key: "${TOP_SECRET_KEY}", votes: 3}
limits: {max_steps: 20}
trials: 2
lanes: 4
gate: {min_pass_rate: 0.8}
"""

ROW = {"query_id": "a", "query": "Do a."}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOP_SECRET_KEY", SECRET)


def made(name: str, *, config: str = CONFIG, row: Mapping[str, Any] = ROW, **more: Any) -> Path:
    """Leave what a run leaves: two rows with a trial each, one of them passed."""
    Path("shop.yaml").write_text(config)
    Path("rows.jsonl").write_text(f"{json.dumps(row)}\n")
    loaded = load_config(Path("shop.yaml"), registry=builtin_registry())
    store = write_run(
        Path("results/shop") / name,
        graded("a", grade("webvoyager", PASSED, fingerprint="w/1/o4-mini/0")),
        graded("b", grade("webvoyager", FAILED, fingerprint="w/1/o4-mini/0")),
    )
    content = manifest(
        loaded, "Chromium 156.0 (PATH: /usr/bin/chromium)", (), (), ["acme 1.0"], model_calls="live"
    )
    times = {"started_at": f"2026-01-0{len(name)}T00:00:00.000Z", "git_commit": "0123456789abcdef"}
    store.write_manifest({**content, **times, "selected": 4, **more})
    write_summary(store, selected=4)
    return store.root


def lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return what was printed by the names in the first column."""
    out = capsys.readouterr().out
    assert max(map(width_of, out.splitlines())) <= 100
    found: dict[str, str] = {}
    name = ""
    for line in out.splitlines():
        first, text = re.fullmatch(r"(\S*) +(.*)", line).groups()  # type: ignore[union-attr]
        name = first or name
        found[name] = f"{found.get(name, '')} {text}".strip()
    return found


def test_all_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids, times, versions, hashes, agents, options and counts, in 100 columns and without a secret."""
    run = made("r")
    assert main(["runs", str(run)]) == 0
    told = lines(capsys)
    content = json.loads((run / "manifest.json").read_text())
    assert told["run"] == "r"
    assert told["folder"] == "results/shop/r"
    assert told["config"] == f"shop.yaml (hash {content['config_hash']})"
    assert told["started"] == "2026-01-01T00:00:00.000Z"
    assert told["trials"] == "4 selected, 1 passed, 1 failed, 2 without a result, 2 rows attempted"
    assert told["agent"] == ("orchestrator-executor orchestrator openai/gpt-4o, executor openai/gpt-4o-mini")
    assert told["judge"] == "openai/o4-mini, 3 votes"
    assert told["graders"] == "webvoyager, answer (advisory)"
    assert told["dataset"] == "type jsonl, path rows.jsonl, select.limit 5"
    assert told["sha256"] == f"rows.jsonl {content['datasets'][0]['sha256']}"
    assert told["browser"] == "Chromium 156.0 (PATH: /usr/bin/chromium)"
    assert told["options"] == "trials 2, lanes 4, limits.max_steps 20"
    assert told["gate"] == "min_pass_rate 0.8"
    assert told["plug-ins"] == "acme 1.0"
    assert (told["python"], told["platform"]) == (content["python"], content["platform"])
    assert f"playwright {content['packages']['playwright']}" in told["packages"]
    assert told["commit"] == "0123456789abcdef"
    assert not {"merged", "imported", "resumed"} & set(told)


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a run that is named by ``latest``."""
    run = made("r")
    assert main(["runs", "latest", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert (told["run"], told["folder"], told["problems"]) == ("r", "results/shop/r", [])
    assert told["manifest"]["config"]["dataset"][0]["select"]["limit"] == 5
    counts = {"selected": 4, "trials": 2, "passed": 1, "failed": 1, "errored": 0, "pass_rate": 0.5}
    assert told["counts"] == counts
    assert told["manifest"] == json.loads((run / "manifest.json").read_text())


def test_no_secret_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither one that the config had, nor one that somebody has written into the manifest."""
    run = made("r")
    assert SECRET not in (run / "manifest.json").read_text()
    content = json.loads((run / "manifest.json").read_text())
    content["config"]["judge"]["api_key"] = SECRET
    content["config"]["variants"]["default"]["url"] = f"https://me:{SECRET}@model.example"
    (run / "manifest.json").write_text(json.dumps(content))
    made("rr")
    for typed in (["runs", "r"], ["runs", "r", "--json"], ["runs", "r", "rr"], ["runs", "rr", "r", "--json"]):
        assert main(typed) == 0
        assert SECRET not in capsys.readouterr().out


def test_resumes_merges_and_imports(capsys: pytest.CaptureFixture[str]) -> None:
    """When the run was resumed and by what, which runs it is merged of, whose it was."""
    merged: dict[str, Any] = {"merged_from": ["1", "2"], "merged_at": "2026-02-01T00:00:00.000Z"}
    run = made("r", **merged, imported_from={"kind": "browseros", "folder": "old"})
    content = json.loads((run / "manifest.json").read_text())
    same = {key: content[key] for key in ("python", "platform", "packages")}
    resumes = [
        {"resumed_at": "2026-01-03", "trials": 4, "finished": 2, "differences": ["config.trials: 1 -> 2"],
         **same, "git_commit": "fedcba9876543210"},
        {"started_at": "2026-01-03", "worker": "gw0", "browser": "Chromium 157.0"},
    ]  # fmt: skip
    (run / "resumes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in resumes))
    assert main(["runs", "r"]) == 0
    told = lines(capsys)
    assert told["merged"] == "1, 2"
    assert told["imported"] == "kind browseros, folder old"
    assert told["resumed"] == (
        "2026-01-03: 2 of 4 trials had their result resumed anyway: config.trials: 1 -> 2 "
        "git_commit: 0123456789abcdef -> fedcba9876543210 2026-01-03 in gw0: Chromium 157.0"
    )


def test_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """They differ in a model, in lanes and in the judge that people were not told of; never in time."""
    made("r")
    config = CONFIG.replace("gpt-4o-mini", "gpt-5-mini").replace("lanes: 4", "lanes: 8")
    other = made("rr", config=config, tools=["press"], tool_hashes={"press": "1"})
    other_judge = grade("webvoyager", PASSED, fingerprint="w/1/o4-mini/1").model_dump(mode="json")
    change_line(other, "a", grader_results={"webvoyager": other_judge})
    assert main(["runs", "r", "rr"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:8] == [
        "results/shop/r: 1 passed, 1 failed",
        "results/shop/rr: 1 passed, 1 failed",
        "",
        "they differ in (older first):",
        "config.lanes: 4 -> 8",
        "config.variants.default.executor.model: gpt-4o-mini -> gpt-5-mini",
        "tool_hashes.press: none -> 1",
        "grader webvoyager: w/1/o4-mini/0 -> w/1/o4-mini/0 and w/1/o4-mini/1",
    ]
    assert main(["runs", "r", "rr", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert ([one["run"] for one in told["runs"]], len(told["differences"])) == (["r", "rr"], 4)
    shutil.copytree("results/shop/r", "results/shop/copy")
    assert main(["runs", "r", "copy"]) == 0
    assert "the runs differ only in time" in capsys.readouterr().out


def test_a_file_that_a_row_uses_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """What was uploaded is another file: the two runs are not alike, and the file is named."""
    Path("files").mkdir()
    for name, content in (("r", "one"), ("rr", "other")):
        Path("files/photo.png").write_text(content)
        made(name, row={**ROW, "metadata": {"additional": {"a": "files/photo.png", "b": f"{'x' * 300}.png"}}})
    assert main(["runs", "r", "rr"]) == 0
    assert "files.files/photo.png: " in capsys.readouterr().out


def test_a_manifest_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 with the file; counts and resumes are told all the same."""
    why = {
        None: "is missing: what the run was made of is unknown.",
        '{"name": "shop", "conf': "is damaged: ",
        "[]": "is damaged: it is not a block of keys.",
    }
    for text, told in why.items():
        file = made("r") / "manifest.json"
        file.unlink() if text is None else file.write_text(text)
        (file.parent / "resumes.jsonl").write_text('{"resumed_at": "2026-01-03", "trials": 4, "fini\n[]\n')
        assert main(["runs", "r"]) == 1
        out, err = capsys.readouterr()
        assert "trials  4 selected, 1 passed, 1 failed, 2 without a result, 2 rows attempted" in out
        assert f"results/shop/r/manifest.json {told}" in err
        for number in (1, 2):
            assert f"results/shop/r/resumes.jsonl:{number} is damaged and left out." in err
        made("rr")
        assert main(["runs", "r", "rr"]) == 1
        assert "the manifest of A is missing or damaged" in " ".join(capsys.readouterr().out.split())
        shutil.rmtree("results")


def test_a_run_without_an_attempt(capsys: pytest.CaptureFixture[str]) -> None:
    """One that was ended at once has a manifest; nothing else is asked of it."""
    file = made("r") / "manifest.json"
    Path("results/shop/0").mkdir()
    file.rename("results/shop/0/manifest.json")
    assert main(["runs", "0"]) == 0
    shown = lines(capsys)["trials"]
    assert shown.startswith("4 selected, 0 rows attempted; there is no summary.json: the run is still run")
