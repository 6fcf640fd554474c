"""Files of a run that are damaged: named and refused, in one sentence, by all commands that go by them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_foreign_results import told

TRIAL = "tasks/r0/default/1"


def regraded(evals: Evals, run: EvalRun) -> tuple[int, str]:
    """Return what grading again comes to."""
    again = evals.run("shop.eval.yaml", f"--eval-regrade={run.folder}")
    return int(again.ret), " ".join((again.stdout.str() + again.stderr.str()).split())


NUMBERS = (
    ("total_duration_ms", "NaN"), ("total_duration_ms", "-1"), ("grading_duration_ms", "Infinity"),
    ("total_steps", "-3"), ("attempt", "-1"), ("screenshot_count", "-1"), ("input_tokens", "-1"),
    ("cost_usd", "-Infinity"), ("cost_usd", "NaN"), ("revision", "0"),
)  # fmt: skip


def test_numbers_that_are_none(evals: Evals, run: EvalRun) -> None:
    """A line with one is damaged: it is named, and all commands refuse the run."""
    (file,) = (run.folder / "attempts").iterdir()
    whole = file.read_text()
    for key, value in NUMBERS:
        text, count = re.subn(rf'"{key}": [^,}}]+', f'"{key}": {value}', whole)
        assert count, key
        file.write_text(text)
        code, said = told(evals, "gate", str(run.folder))
        assert (code, f"attempts/{file.name}, at byte 0, is damaged: " in said) == (4, True), said
        assert f"{key}: Input should be" in said
    code, said = regraded(evals, run)
    assert (code, "is damaged: " in said) == (4, True), said


@pytest.mark.parametrize(
    "usage",
    [
        "Usage(input_tokens=-5)", "Usage(requests=1, cost_usd=float('nan'))", "Usage(cost_usd=float('inf'))",
        "Usage(requests=1).model_copy(update={'cost_usd': -1.0})",
    ],
)  # fmt: skip
def test_an_agent_that_tells_a_usage_that_is_none(evals: Evals, usage: str) -> None:
    """It is the agent's error; the run's files can be read by everybody."""
    evals.pytester.makepyfile(
        own=f"from pytest_browsereval.model.usage import Usage\n\n"
        f"def solve(context):\n    context.log_assistant('hm', usage={usage})\n    return 'right'\n"
    )
    run = evals.play([row("r0")], agent={"type": "function", "function": "own:solve"})
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    (result,) = run.summary["results"]
    assert (result["verdict"], result["error_source"]) == ("errored", "agent")
    for file in run.folder.rglob("*.json*"):
        assert not re.search(r": -?(NaN|Infinity)", file.read_text()), file


CUTS: list[Callable[[str], str]] = [lambda _: "", lambda log: log[:30], lambda log: log + '{"type": "us']


@pytest.mark.parametrize("cut", CUTS, ids=["emptied", "cut", "torn"])
def test_a_log_that_is_cut_is_not_graded(evals: Evals, run: EvalRun, cut: Callable[[str], str]) -> None:
    """A finished attempt has all of its messages: graders would judge what is left of them."""
    file = run.folder / TRIAL / "attempt-1/messages.jsonl"
    file.write_text(cut(file.read_text()))
    code, text = regraded(evals, run)
    assert code == pytest.ExitCode.USAGE_ERROR, text
    assert re.search(r"messages\.jsonl:\d+ is damaged: (its last line is cut off|it is empty)", text)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"schema_version": "x"}', '{"schema_version": 99}'])
def test_a_damaged_manifest_is_refused(evals: Evals, run: EvalRun, content: str) -> None:
    """By all that compare, decide or grade, also where a config tells the rules."""
    shutil.copytree(run.folder, evals.path / "other")
    (run.folder / "manifest.json").write_text(content)
    place, other = str(run.folder), str(evals.path / "other")
    done = [
        told(evals, "gate", place, "--config", "shop.eval.yaml"),
        told(evals, "compare", place, other),
        told(evals, "export", place, "--to=baseline", "-o", "base.json"),
        told(evals, "merge", place, other, "-o", "whole"),
        regraded(evals, run),
    ]
    for code, text in done:
        assert code == pytest.ExitCode.USAGE_ERROR, text
        assert "manifest.json is damaged: " in text or "has written this run (form " in text
