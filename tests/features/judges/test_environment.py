"""The trajectory scorer that environment variables switch on: told beside the verdict, deciding nothing."""

from __future__ import annotations

import json
import time

import pytest

from pytest_browsereval.testing import Reply, ScriptedModel, says
from tests.hooks.small_evals import Evals, row

RATED = json.dumps({"reasoning": "It is all there.", "score": 0.9})


@pytest.fixture(autouse=True)
def _enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_EVALS2", "true")


@pytest.mark.slow
def test_it_scores_and_decides_nothing(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every attempt has its grade, verdicts are as without it, and a file has the scores."""
    file = evals.path / "scores.jsonl"
    monkeypatch.setenv("EVALS2_OUTPUT_FILE", "scores.jsonl")
    evals.write([row("good"), row("bad", says="wrong")])
    began = time.time() * 1000
    ran = evals.run("shop.eval.yaml", "-n1")
    ran.assert_outcomes(passed=1, failed=1)
    for attempt in ran.attempts:
        grade = attempt.grader_results["evals2"]
        assert (grade.advisory, grade.verdict, grade.details["method"]) == (True, "passed", "heuristic")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["query"] for line in lines] == ["Say the answer of good.", "Say the answer of bad."]
    for line in lines:
        assert list(line) == ["query", "score", "timestamp"]
        assert line["score"]["weightedTotal"] == pytest.approx(0.4 * 0.8 + 0.3 * 0.5 + 0.15 + 0.15)
        assert line["score"]["details"]["toolCalls"] == 1
        assert began - 1000 < line["timestamp"] < time.time() * 1000 + 1000
    resumed = evals.run("--eval-config=shop.eval.yaml", "--eval-resume=latest")
    resumed.assert_outcomes(passed=1, failed=1)
    assert len(file.read_text().splitlines()) == 2  # those of the earlier session have their line
    evals.run("--eval-config=shop.eval.yaml", "--eval-regrade=latest", "--eval-set=graders=[answer]")
    assert len(file.read_text().splitlines()) == 4
    assert {"answer", "evals2"} == set(ran.attempts[0].grader_results)


def test_a_model_scores_where_there_is_a_key(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal and plan by the model that is named; its key is written nowhere."""
    monkeypatch.setenv("OPENAI_API_KEY_FOR_SCORING", "sk-scoring-0123456789")
    evals.write([row("good")])
    with ScriptedModel(lambda _: says(RATED)) as model:
        monkeypatch.setenv("OPENAI_BASE_URL_FOR_SCORING", model.base_url)
        ran = evals.run("shop.eval.yaml")
        assert {request.body["model"] for request in model.requests} == {"gpt-4o-mini"}
        monkeypatch.setenv("OPENAI_MODEL_FOR_SCORING", "gpt-4.1-mini")
        again = evals.run("shop.eval.yaml")
        assert model.requests[-1].body["model"] == "gpt-4.1-mini"
    for one in (ran, again):
        one.assert_outcomes(passed=1)
        assert one.attempt("good").grader_results["evals2"].details["goalCompletion"] == 0.9
        files = [path for path in one.folder.rglob("*") if path.is_file()]
        assert not [path for path in files if b"sk-scoring" in path.read_bytes()]
    ran.stdout.fnmatch_lines(["*note: ENABLE_EVALS2: every trajectory is scored by the model gpt-4o-mini;*"])


def test_scoring_never_breaks_a_run(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is refused errs the grade of each row, and nothing else."""
    monkeypatch.setenv("OPENAI_API_KEY_FOR_SCORING", "sk-scoring-0123456789")
    evals.write([row("a"), row("b")], gate={"max_error_rate": 0})
    with ScriptedModel(lambda _: Reply(status=401, error="no such key")) as model:
        monkeypatch.setenv("OPENAI_BASE_URL_FOR_SCORING", model.base_url)
        ran = evals.run("shop.eval.yaml")
    assert ran.ret == 0
    assert [one.grader_results["evals2"].verdict for one in ran.attempts] == ["errored", "errored"]
    assert [one.verdict for one in ran.attempts] == ["passed", "passed"]


def test_it_is_off_or_refused(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is scored or written where it is off; what is wrong is reported before anything runs."""
    evals.write([row("a")])
    for enable, file, message in (
        ("maybe", "scores.jsonl", "ENABLE_EVALS2 is 'maybe'. Set it to true or false."),
        ("true", "no/such/scores.jsonl", "scores.jsonl cannot be written"),
    ):
        monkeypatch.setenv("ENABLE_EVALS2", enable)
        monkeypatch.setenv("EVALS2_OUTPUT_FILE", file)
        ran = evals.run("shop.eval.yaml")
        assert (ran.ret, message in ran.stderr.str()) == (4, True)
    assert not (evals.path / "results").exists()
    monkeypatch.setenv("ENABLE_EVALS2", "false")
    assert set(evals.run("shop.eval.yaml").attempt("a").grader_results) == {"answer"}
    assert not (evals.path / "no").exists()
