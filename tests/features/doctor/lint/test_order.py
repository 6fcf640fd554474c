"""Rows whose verdict goes with the time, or with what ran before them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.doctor.lint.base import Level
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.store import RunStore, TrialKey
from tests.features.doctor.lint.test_runs import AI, ROW, linted, rules
from tests.hooks.small_evals import Evals, row
from tests.recorded import FAILED, PASSED, attempt

VERDICTS = {"P": PASSED, "F": FAILED}


def leave(home: Path, began: str, verdicts: str, *, before: Iterable[str] = ()) -> Path:
    """Leave a run with an attempt at the row ``mug`` for each letter, and at others before them."""
    store = RunStore(home / re.sub(r"\W", "-", began))
    for number, (name, letter) in enumerate(
        [*((one, "P") for one in before), *(("mug", one) for one in verdicts)]
    ):
        trial = number + 1 if name == "mug" and len(verdicts) > 1 else 1
        given: dict[str, Any] = {
            "agent_config": AI,
            "row_hash": Task(**ROW).content_hash() if name == "mug" else "",
            "trial": trial,
            "started_at": f"{began}:{2 * number:02}.000Z",
            "completed_at": f"{began}:{2 * number + 1:02}.000Z",
        }
        store.begin_attempt(TrialKey(name, "default", trial), "node")
        store.save_record(attempt(name, VERDICTS[letter], **given))
    return store.root


def leave_days(home: Path, verdicts: str) -> list[Path]:
    """Leave a run a day."""
    return [leave(home, f"2026-01-{day:02}T12:00", letter) for day, letter in enumerate(verdicts, 1)]


@pytest.mark.parametrize(
    ("verdicts", "expected", "message"),
    [
        (
            "PPPPPFFFFF",
            [("time-dependent", Level.WARNING)],
            "passed in all 5 attempts, and in none of 5",
        ),
        ("FFFFFPPPPP", [("time-dependent", Level.NOTE)], "failed in all 5 attempts, and in none of 5"),
        ("PPPPFFFF", [("coin-flip", Level.WARNING)], "4 of 8"),  # 1 of 35 rows that are coins looks like it
        ("PPPPPFFFPF", [("coin-flip", Level.WARNING)], "6 of 10"),
        ("P" * 11 + "F", [], ""),
    ],
)
def test_since_when(tmp_path: Path, verdicts: str, expected: list[Any], message: str) -> None:
    """A row that passed until a day, and not since, is no coin; what chance does as well is not reported."""
    findings = linted(tmp_path, ROW, runs=leave_days(tmp_path / "runs", verdicts))
    assert rules(findings) == expected
    assert all(message in one.message for one in findings)
    if expected and expected[0][0] == "time-dependent":
        assert "between 2026-01-05T12:00 and 2026-01-06T12:00 (UTC)" in findings[0].message


def test_only_the_first_trial_passes(tmp_path: Path) -> None:
    """Trials of a run come one after the other."""
    runs = [leave(tmp_path / "runs", f"2026-01-0{day}T12:00", "PFFF") for day in (1, 2, 3)]
    (found,) = linted(tmp_path, ROW, runs=runs)
    assert (found.rule, found.level) == ("order-dependent", Level.WARNING)
    assert "each first trial passed (3), and each later one failed (9)" in found.message
    assert rules(linted(tmp_path, ROW, runs=runs[:2])) == [("coin-flip", Level.WARNING)]


@pytest.mark.parametrize("verdicts", ["FP", "PF"])
def test_after_another_row(tmp_path: Path, verdicts: str) -> None:
    """The other row is named; one that has always run before it explains nothing."""
    runs = [
        leave(
            tmp_path / "runs",
            f"2026-01-{day:02}T12:00",
            verdicts[day % 2],
            before=["login", *["sweep"] * (day % 2 == 0)],
        )
        for day in range(1, 13)
    ]
    (found,) = linted(tmp_path, ROW, runs=runs)
    verdict, other = ("failed", "passed") if verdicts == "FP" else ("passed", "failed")
    assert found.rule == "order-dependent"
    assert f"it {verdict} in all 6 attempts that came after sweep in the same run, and {other} in all 6" in (
        found.message
    )


def test_a_hard_row_is_not_broken(tmp_path: Path) -> None:
    """Its solution passes, and no agent does."""
    run = leave(tmp_path / "runs", "2026-01-01T12:00", "FFF")
    given = {"agent_config": {"type": "scripted"}, "row_hash": Task(**ROW).content_hash()}
    RunStore(run).begin_attempt(TrialKey("mug", "oracle", 1), "node")
    RunStore(run).save_record(attempt("mug", PASSED, variant="oracle", **given))
    assert rules(linted(tmp_path, ROW, runs=[run])) == [("hard", Level.NOTE)]


AGENT = """
from pathlib import Path

async def answer(context):
    left = Path("left")
    is_first = not left.exists()
    left.touch()
    easy = context.task.query_id == "easy"
    return "right" if easy or (is_first and context.task.query_id == "<mug>") else "wrong"
"""

BLANK = """
from pytest_browsereval.testing.blank import BlankBrowserConfig

def pytest_browsereval_register(registry):
    registry.register(BlankBrowserConfig)
"""


def test_what_runs_say_of_rows(evals: Evals) -> None:
    """From rows and runs to the report of each row, on the terminal, as Markdown and as JSON."""
    evals.pytester.makepyfile(my_agent=AGENT)
    evals.write_rows(row("<mug>"), row("easy"), row("never"))
    evals.write_config(agent={"type": "function", "function": "my_agent:answer"}, trials=4)
    for _ in range(3):
        (evals.path / "left").unlink(missing_ok=True)
        assert evals.run("shop.eval.yaml").ret == 1
    evals.pytester.makeconftest(BLANK)
    words = (
        "doctor",
        "shop.eval.yaml",
        "--run",
        "latest",
        "--last",
        "5",
        "--json",
        "a.json",
        "--markdown",
        "a.md",
    )
    done = evals.run_command(*words)
    done.stdout.fnmatch_lines(["warning order-dependent: 1", "*each first trial passed (3)*"])
    found = json.loads((evals.path / "a.json").read_text())["findings"]
    assert {one["query_id"]: one["rule"] for one in found} == {
        "<mug>": "order-dependent",
        "easy": "always-passes",
        "never": "never-passes",
    }
    assert "row '&lt;mug&gt;': each first trial passed" in (evals.path / "a.md").read_text()


def test_last_needs_a_run(evals: Evals) -> None:
    """Otherwise it is not clear before which run they are to be."""
    evals.write_rows(row("a"))
    evals.write_config()
    evals.pytester.makeconftest(BLANK)
    done = evals.run_command("doctor", "shop.eval.yaml", "--last", "3")
    assert done.ret == 4
    assert "--last adds earlier runs to one run, and --run names 0. Name one." in done.stderr.str()
