"""Rows from elsewhere: graders that reach out of the window run only where the dataset is trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.testing import ScriptedModel, says
from tests.hooks.small_evals import Evals, row

TRUSTED = [{"path": "rows.jsonl", "trusted": True}]
WRITES = {"type": "command", "command": ["sh", "-c", "touch PWNED; echo '{\"pass\": true}'"]}
SAME = json.dumps({"reasoning": "same", "stated_answer": "right", "is_same": True})

PLUGIN = '''
import pathlib
from typing import Literal

from pytest_browsereval import GraderConfig, Needs
from pytest_browsereval.model.grades import GraderResult, Verdict


class Runs(GraderConfig):
    """Runs what a row names."""

    type: Literal["runs"] = "runs"

    def needs(self, task):
        return Needs(trust=("runs the code of the row",))

    async def grade(self, recorded):
        (recorded.base_dir / "PWNED").touch()
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, score=1.0)


def pytest_browsereval_register(registry):
    registry.register(Runs)
'''


def refused(evals: Evals, why: str, *args: str) -> None:
    """Assert that a run is refused by file and line, and that nothing has begun."""
    ran = evals.run(*args)
    assert ran.ret == 4, ran.outlines
    told = ran.stdout.str() + ran.stderr.str()
    assert f"rows.jsonl:2: row 'b': the grader {why}" in told
    assert "write `trusted: true` in the block of their dataset" in told
    assert not (evals.path / "PWNED").exists()
    assert list(evals.path.glob("results/shop/*/tasks/*")) == []


@pytest.mark.parametrize(
    "block", [WRITES, {"type": "combined", "graders": ["answer", WRITES]}], ids=["plain", "inside"]
)
def test_a_program_of_a_row_needs_trust(evals: Evals, block: dict[str, Any]) -> None:
    """It is not started before somebody has written that the rows are trusted."""
    evals.write([row("a"), row("b", graders=[block])])
    refused(evals, f"{block['type']!r} of the row starts the program 'sh'")
    evals.write_config(dataset=TRUSTED)
    evals.run().assert_outcomes(passed=2)
    assert (evals.path / "PWNED").exists()


def test_a_grader_of_a_plugin_says_what_it_does(evals: Evals) -> None:
    """A package's grader that runs code is refused by its bare name too."""
    evals.pytester.makeconftest(PLUGIN)
    evals.write([row("a"), row("b", graders=["runs"])])
    refused(evals, "'runs' of the row runs the code of the row")
    evals.write_config(dataset=TRUSTED)
    evals.run().assert_outcomes(passed=2)
    assert (evals.path / "PWNED").exists()


def test_a_model_of_a_row_needs_trust(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the environment goes to a host that a row names."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user-only")
    with ScriptedModel(lambda _: says(SAME)) as server:
        model = {"provider": "openai-compatible", "model": "m", "base_url": server.base_url}
        judged = {"type": "browsecomp", "judge": {**model, "api_key": "OPENAI_API_KEY"}}
        evals.write([row("a"), row("b", graders=[judged])])
        refused(evals, "'browsecomp' of the row asks a model of its own (`judge`)")
        assert server.requests == []
        evals.write_config(dataset=TRUSTED)
        evals.run().assert_outcomes(passed=2)
        assert len(server.requests) == 1


def test_a_stored_grader_needs_trust(evals: Evals) -> None:
    """A run folder may come from elsewhere as well: what it names is not started to grade it again."""
    evals.play([row("a"), row("b")], graders=[WRITES]).assert_outcomes(passed=2)
    (evals.path / "PWNED").unlink()
    evals.write_config()
    again = evals.run("--eval-regrade=latest")
    assert again.ret == 4
    told = again.stdout.str() + again.stderr.str()
    assert "task.json: a: the grader 'command' of the row starts the program 'sh'" in told
    assert not (evals.path / "PWNED").exists()
    evals.write_config(dataset=TRUSTED)
    evals.run("--eval-regrade=latest").assert_outcomes(passed=2)
    assert (evals.path / "PWNED").exists()
    evals.write([row("a")], dataset=[*TRUSTED, "more.jsonl"])
    evals.write_rows(row("c"), name="more.jsonl")
    again = evals.run("--eval-regrade=latest")  # nobody knows where b comes from any more
    assert "task.json: b: the grader 'command' of the row starts" in again.stdout.str() + again.stderr.str()
    assert again.ret == 4


def test_a_corrected_row_needs_trust(evals: Evals) -> None:
    """What a row names since the run is not started to grade its attempt again."""
    evals.play([row("a"), row("b")]).assert_outcomes(passed=2)
    evals.write_rows(row("a"), row("b", graders=[WRITES]))
    current = ("--eval-regrade=latest", "--eval-regrade-rows=current")
    again = evals.run(*current)
    assert again.ret == 4
    assert (
        "the grader 'command' of the row starts the program 'sh'" in again.stdout.str() + again.stderr.str()
    )
    assert not (evals.path / "PWNED").exists()
    evals.write_config(dataset=TRUSTED)
    evals.run(*current).assert_outcomes(passed=2)
    assert (evals.path / "PWNED").exists()


def test_tests_by_hand_need_trust(evals: Evals) -> None:
    """Rows of a marker are refused in the same way."""
    evals.write_rows(row("a", graders=[WRITES]))
    evals.pytester.makepyfile(
        """
        import pytest

        KEYS = {"agent": "scripted", "browser": "blank"}

        @pytest.mark.browsereval(dataset="rows.jsonl", **KEYS)
        def test_plain(eval_task, run_eval):
            run_eval(eval_task).assert_passed()

        @pytest.mark.browsereval(dataset=[{"type": "jsonl", "path": "rows.jsonl", "trusted": True}], **KEYS)
        def test_trusted(eval_task, run_eval):
            run_eval(eval_task).assert_passed()
        """
    )
    ran = evals.run("-k", "test_plain")
    ran.assert_outcomes(errors=1)
    assert "the grader 'command' of the row starts the program 'sh'" in ran.stdout.str()
    assert not (evals.path / "PWNED").exists()
    evals.run("-k", "test_trusted").assert_outcomes(passed=1)
