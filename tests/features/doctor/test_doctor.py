"""The doctor of a config, with real sites, browsers, models and pytest runs."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.doctor.doctor import Check, Examination, Options, State, examine
from pytest_browsereval.features.shared.process import run_pytest
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import Golden
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.testing import ScriptedModel, refuses
from tests.hooks.small_evals import row

TODAY = date(2026, 3, 1)


class Muddled(AnswerGrader):
    """Says what it was not asked: its own examples prove it."""

    type: Literal["muddled"] = "muddled"  # type: ignore[assignment]

    @classmethod
    def golden(cls) -> tuple[Golden, ...]:
        task = Task(query_id="t", query="q", answer="yes")
        return (
            Golden("yes", Verdict.PASSED, task, final_answer="no"),
            Golden("broken", Verdict.FAILED, task, {"match": "number"}, final_answer="no"),
        )


def examined(
    folder: Path, *rows: dict[str, Any], options: dict[str, Any] | None = None, **keys: Any
) -> Examination:
    (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    agent = {} if "variants" in keys else {"agent": "scripted"}
    file = folder / "shop.json"
    file.write_text(json.dumps({**agent, "dataset": "rows.jsonl", "retries": 0, **keys}))
    registry = builtin_registry()
    registry.register(Muddled, owner="test")
    config = load_config(file, registry=registry)
    return examine(config, registry, Options(TODAY, **(options or {})))


def of(report: Examination, *areas: str) -> list[Check]:
    return [one for one in report.checks if one.area in areas]


@pytest.mark.slow
def test_all_that_a_run_needs_is_tried(tmp_path: Path) -> None:
    """Sites are started, a window is opened, graders judge their own examples; nothing is left behind."""
    (tmp_path / "shop").mkdir()
    report = examined(tmp_path, row("a", start_url="{shop}/"), sites={"shop": {"static": "shop"}})
    assert not report.has_errors
    assert {(one.area, one.state) for one in report.checks} == {
        (area, State.OK) for area in ("agent", "tools", "rows", "grader", "site", "browser")
    }
    (rows,), (browser,) = of(report, "rows"), of(report, "browser")
    assert rows.message.startswith("1 of type jsonl, sha256 ")
    assert "Chrom" in browser.message
    assert report.findings == ()
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_what_is_missing_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, sites and graders are all told, one by one, not the first of them alone."""
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    model = {"provider": "openai", "model": "gpt-4o", "api_key": "NO_SUCH_KEY"}
    report = examined(
        tmp_path,
        row("a", start_url="{shop}/"),
        row("b", start_url="{shop}/", graders=["muddled"]),
        row("c", start_url="{shop}/", graders=["answr"]),
        variants={"ai": {"type": "single", **model}, "none": "noop"},
        judge=model,
        sites={"shop": {"command": [sys.executable, "-c", "raise SystemExit(3)"], "health": "/"}},
    )
    wrong = {(one.area, one.subject): one.message for one in report.checks if one.state is State.ERROR}
    assert set(wrong) == {("agent", "ai"), ("judge", "gpt-4o"), ("grader", "muddled"), ("site", "shop")}
    assert "NO_SUCH_KEY" in wrong["agent", "ai"]
    assert "'broken' has to be failed" in wrong["grader", "muddled"]
    assert [(found.rule, found.query_id) for found in report.findings] == [("unusable-row", "c")]


@pytest.mark.slow
def test_models_answer_one_question_if_they_may(tmp_path: Path) -> None:
    """Without --ask-judge no model is asked; with it each one is asked once, and what it says is told."""
    with ScriptedModel(lambda asked: refuses(401) if asked.body["model"] == "other" else "ready") as model:
        server = {"provider": "openai-compatible", "base_url": model.base_url}
        judge = {**server, "model": "m", "api_key": "k-123"}
        own = {"type": "webvoyager", "judge": {**judge, "model": "other"}}
        page = {"start_url": "data:text/html,x"}
        rows = [row("a", graders=["webvoyager"], **page), row("b", graders=["webvoyager"], **page)]
        rows.append(row("c", graders=[own], **page))
        keys: dict[str, Any] = {"judge": judge, "dataset": [{"path": "rows.jsonl", "trusted": True}]}
        silent = examined(tmp_path, *rows, **keys)
        assert [one.state for one in of(silent, "judge", "grader")] == [State.OK, State.SKIPPED]
        assert model.requests == []
        asked = of(examined(tmp_path, *rows, options={"ask_judge": True}, **keys), "judge")
        assert len(model.requests) == 2
    told = [(one.subject, one.state) for one in asked]
    assert told == [("m", State.OK), ("m", State.OK), ("other", State.ERROR)]
    assert "401" in asked[2].message
    assert "k-123" not in asked[2].message


@pytest.mark.slow
def test_a_set_is_proved(tmp_path: Path) -> None:
    """Solutions have to pass and doing nothing has to fail; rows of which nothing is known are listed."""
    rows = [
        row("good"),
        row("wrong", says="left"),
        row("idle", graders=["page_state"], checks=[{"js": "1", "equals": 1}], start_url="data:text/html,x"),
        row("bare", says=None),
        row("later", depends_on=["bare"]),
        row("judged", graders=["webvoyager"]),
        {**row("secret"), "protected": True},
    ]
    judge = {"provider": "openai-compatible", "model": "m", "base_url": "http://127.0.0.1:9", "api_key": "k"}
    gate = {"must_pass": ["bare"]}
    report = examined(tmp_path, *rows, options={"validate": True}, judge=judge, gate=gate)
    done = report.validated
    assert done is not None
    assert done.proved == ["good"]
    assert {why.split(";")[0].split(",")[0]: ids for why, ids in done.unproved.items()} == {
        "it has no solution": ["bare"],
        "it depends on a row that cannot be tried": ["later"],
        "a model grades it": ["judged"],
        "it is protected": ["secret"],
    }
    told = {(found.rule, found.query_id) for found in report.findings if found.rule.endswith("-passes")}
    assert told == {("never-passes", "wrong"), ("always-passes", "idle")}
    assert report.has_errors
    assert not any(run.exists() for run in done.runs)


@pytest.mark.slow
def test_a_row_is_proved_as_its_own_eval_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks keep their trust and rows their files; a solution needs all steps, a failed row a second try."""
    monkeypatch.setenv("CITY", "right")
    (tmp_path / "verify.py").write_text(
        "import json, pathlib, sys\n"
        "answer = json.load(open(sys.argv[-1]))['final_answer']\n"
        "flag = pathlib.Path(sys.argv[1])\n"
        "print(json.dumps({'pass': answer == 'right' and (flag.exists() or sys.argv[1] == '.')}))\n"
        "flag.exists() or flag.touch()\n"
    )
    blocks = {name: {"type": "command", "command": ["{python}", "verify.py", name]} for name in (".", "slow")}
    page = {"start_url": "data:text/html,<p>Here</p><input aria-label=City>"}
    holds: dict[str, Any] = {"graders": ["page_state"], "checks": [{"text": "Here"}], **page}
    broken = {"tool": "click", "target": "text=Gone"}
    typed = {"tool": "fill", "target": "label=City", "text": "${CITY}"}
    rows = [
        row("program", graders=[blocks["."]]),
        row("slow", graders=[blocks["slow"]]),
        {**row("typed", **page), "solution": [typed, {"tool": "done", "answer": "right"}]},
        {**row("broken", **holds), "solution": [broken]},
        {
            **row("upload", files=["files/cv.txt"], graders=["page_state"], checks=[{"text": "cv.txt"}]),
            "start_url": "data:text/html,<input type=file aria-label=CV onchange=body.append(files[0].name)>",
            "solution": [{"tool": "upload_file", "target": "label=CV", "files": ["cv.txt"]}],
        },
    ]
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "cv.txt").write_text("Ada")
    (tmp_path / "more.jsonl").write_text(json.dumps({**row("more"), "solution": [broken]}) + "\n")
    report = examined(
        tmp_path,
        *rows,
        options={"validate": True},
        dataset=[{"path": "rows.jsonl", "trusted": True}, {"path": "more.jsonl"}],
        variables=["CITY"],
        lanes=2,
    )
    assert report.validated is not None
    assert sorted(report.validated.proved) == ["program", "slow", "typed", "upload"]
    told = {one.query_id: one.message for one in report.findings if one.rule == "never-passes"}
    assert told.keys() == {"broken", "more"}
    begins = "its own solution passes without all of its steps: step 1 of the solution failed: click: "
    assert told["broken"].startswith(begins)
    assert told["more"].startswith("its own solution fails: step 1 of the solution failed: click: ")


@pytest.mark.slow
def test_a_pytest_that_does_not_begin_is_told(tmp_path: Path) -> None:
    """Where no attempt is made, each row is told with the last words of pytest."""
    (tmp_path / "conftest.py").write_text("raise RuntimeError('broken conftest')\n")
    report = examined(tmp_path, row("a"), options={"validate": True})
    broken = [found for found in report.findings if found.rule == "errored-attempt"]
    assert [found.query_id for found in broken] == ["a"]
    assert "broken conftest" in broken[0].message


def test_a_pytest_that_does_not_end_is_ended(tmp_path: Path) -> None:
    """What runs longer than its rows can take is ended with all that it has started."""
    (tmp_path / "conftest.py").write_text("import time; time.sleep(600)")
    said = run_pytest([str(tmp_path)], 0.3)
    assert said == "pytest did not finish within 0 s"
