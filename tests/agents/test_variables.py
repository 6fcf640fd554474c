"""Variables in solutions: rows name them, the config allows them, nobody writes their values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.agents.scripted import check_variables, escape_text, find_variable
from pytest_browsereval.testing import ScriptedModel, call, calls, done
from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals
from tests.support import PageServer

__all__ = ["evals"]

SECRET = "tr0ub4dor-and-3"
FORM = """<!doctype html><title>Log in</title><label>Password <input type=password id=pw></label>
<label>Note <input id=note></label><button onclick="done()">Log in</button><p id=said></p>
<script>function done() { said.textContent =
  pw.value.length + ' signs, ' + note.value + (pw.value === 'tr0ub4dor-and-3' ? ', welcome' : ', wrong') }
</script>"""


def fill(text: str, target: str = "label=Password") -> dict[str, Any]:
    return {"tool": "fill", "target": target, "text": text}


def write(
    evals: Evals, pages: PageServer, *steps: dict[str, Any], says: str = "welcome", **keys: Any
) -> None:
    dataset = [{"path": "rows.jsonl", "trusted": True}]
    keys = {"browser": "playwright", "dataset": dataset, **keys}
    click = {"tool": "click", "target": 'role=button[name="Log in"]'}
    evals.write_rows(
        {
            "query_id": "log-in",
            "query": "Log in.",
            "start_url": pages.page("/login", FORM),
            "graders": ["page_state"],
            "checks": [{"text": says}],
            "solution": [*steps, click],
        }
    )
    evals.write_config(agent="scripted", **keys)


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_variable_is_typed_and_never_written(
    evals: Evals, pages: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page gets the value; run folder, reports and terminal have none of it, whatever the name is."""
    monkeypatch.setenv("DOOR", SECRET)
    write(evals, pages, fill("${DOOR}"), variables=["DOOR"], capture={"dom": True})
    run = evals.run("--junit-xml=junit.xml", "-v")
    run.assert_outcomes(passed=1)
    assert SECRET.encode() not in all_bytes(evals.path)
    assert SECRET not in run.stdout.str() + run.stderr.str()
    log = (run.folder / "tasks/log-in/default/1/attempt-1/messages.jsonl").read_text()
    (call,) = [m for m in map(json.loads, log.splitlines()) if "params" in m and m["tool"] == "fill"]
    assert call["params"]["text"] == "[redacted]"


def test_a_variable_that_cannot_be_typed_is_refused(
    evals: Evals, pages: PageServer, subtests: pytest.Subtests
) -> None:
    """A row gets no variable of the environment that the config does not name: exit 4, and nothing is run."""
    cases: list[tuple[dict[str, Any], str | None, str]] = [
        ({}, SECRET, "types ${DOOR}, which `variables` of the config does not have"),
        ({"variables": ["DOORS"]}, SECRET, "Did you mean 'DOORS'? Write `variables: [DOOR]`"),
        ({"variables": ["DOOR"]}, None, "the environment variable 'DOOR' is not set. Set it."),
        ({"variables": ["DOOR"]}, "123", "variables.0: the value of DOOR has fewer than 4 characters"),
        ({"variables": ["DOOR"]}, "123 \n", "variables.0: the value of DOOR has fewer than 4 characters"),
        ({"variables": ["DO OR"]}, SECRET, "DO OR"),
        (
            {"variables": ["DOOR"], "dataset": "rows.jsonl"},
            SECRET,
            "only rows of a trusted dataset may do that",
        ),
    ]
    for keys, value, message in cases:
        with subtests.test(keys=keys, value=value, message=message):
            write(evals, pages, fill("${DOOR}"), **keys)
            before = list(pages.requests)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("DOOR", value or "")
                run = evals.run()
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            text = " ".join((run.stdout.str() + run.stderr.str()).split())
            assert message in text
            assert SECRET not in text
            assert pages.requests == before


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [True, False])
def test_an_executor_types_none_for_a_row_that_is_not_trusted(
    evals: Evals,
    pages: PageServer,
    monkeypatch: pytest.MonkeyPatch,
    trusted: bool,  # noqa: FBT001
) -> None:
    """The check before the run does not look into executors; the value is not given to them."""
    monkeypatch.setenv("DOOR", SECRET)
    write(evals, pages, fill("${DOOR}"))
    (line,) = (evals.path / "rows.jsonl").read_text().splitlines()
    found = json.loads(line)
    found["solution"].append({"tool": "done", "answer": "in"})
    evals.write_rows(found)
    with ScriptedModel([calls(call("delegate", instruction="Log in.")), done("in")]) as server:
        model = {"provider": "openai-compatible", "model": "m", "base_url": server.base_url}
        agent = {"type": "orchestrator-executor", "orchestrator": model, "executor": {"type": "scripted"}}
        dataset = [{"path": "rows.jsonl", "trusted": trusted}]
        evals.write_config(browser="playwright", agent=agent, variables=["DOOR"], dataset=dataset)
        run = evals.run()
    if trusted:
        run.assert_outcomes(passed=1)
    else:
        run.assert_outcomes(errors=1)
        assert "only rows of a dataset with `trusted: true` may" in run.attempt("log-in").reason
    assert SECRET not in run.stdout.str()


COMPARED: tuple[dict[str, Any], ...] = (
    {"checks": [{"field": "Password", "equals": "${DOOR}", "not": True}]},
    {"checks": [{"request": {"url": "**", "sent": {"contains": "${DOOR}"}}, "not": True}]},
    {"checks": [], "graders": [{"type": "page_state", "checks": [{"text": "${DOOR}", "not": True}]}]},
    {"milestones": [{"name": "typed", "check": {"field": "Password", "equals": "${DOOR}"}}]},
    {"graders": ["answer", "page_state"], "answer": "${DOOR}"},
)


def test_a_comparison_with_one_is_refused(
    evals: Evals, pages: PageServer, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Only what is typed gets its value: a check with ``not`` would hold no matter what was sent."""
    monkeypatch.setenv("DOOR", SECRET)
    write(evals, pages, fill("${DOOR}"), variables=["DOOR"])
    row = json.loads((evals.path / "rows.jsonl").read_text())
    for keys in COMPARED:
        with subtests.test(str(keys)):
            evals.write_rows(row | keys)
            run = evals.run()
            assert run.ret == 4
            run.stderr.fnmatch_lines(["*rows.jsonl:1: row 'log-in': the row compares with ${DOOR}, *"])
    evals.write_rows(row | {"checks": [{"called": "fill", "arguments": {"text": "${DOOR}"}}]})
    evals.run("--eval-agent=noop").assert_outcomes(failed=1)


def test_a_query_with_one_needs_a_trusted_dataset(
    evals: Evals, pages: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its agent would type the name itself, and fail."""
    monkeypatch.setenv("DOOR", SECRET)
    write(evals, pages, fill("x"), variables=["DOOR"], dataset="rows.jsonl")
    row = json.loads((evals.path / "rows.jsonl").read_text())
    evals.write_rows(row | {"query": "Log in with ${DOOR}."})
    run = evals.run("--eval-agent=noop")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["*row 'log-in': the query has ${DOOR}, and a row *trusted: true*"])


def test_which_texts_are_variables() -> None:
    """One that is escaped is none, nor is a part of a text or what other tools take."""
    for text in ("${HOME}", "$${HOME}", "$$${A_1}"):
        assert escape_text(text) == f"${text}"
        assert find_variable(fill(escape_text(text))) is None
    others = ["${1A}", "a ${HOME}", "${HOME} ", "$HOME", "{HOME}", "${}"]
    assert [escape_text(text) for text in others] == others
    steps = [*map(fill, others), {"tool": "evaluate", "script": "${HOME}"}]
    check_variables([*steps, {"tool": "wait_for_text", "text": "${HOME}"}], (), (), trusted=False)
