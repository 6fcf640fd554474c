"""Runs are in one line while nothing but the code under test has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.runs.breaks import find_breaks, find_points
from pytest_browsereval.features.runs.history import read_history
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import AGENT, config_with, leave_run, name_of, tried
from tests.labelled import graded
from tests.recorded import FAILED, PASSED


def changes_between(results: Path) -> list[list[str]]:
    return [list(found.words) for found in find_breaks(read_history(results).runs).values()]


RULES = [tried(name, verdict, fingerprint="state/2/0") for name, verdict in (("a", PASSED), ("b", FAILED))]
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {}),
    ("", {"git_commit": "another"}),
    ("", {"python": "3.14", "packages": {"playwright": "9"}, "platform": "darwin"}),
    ("", {"datasets": [{"file": "rows.jsonl", "sha256": "of other rows"}]}),
    ("", {"config": config_with(gate={"min_pass_rate": 1}, lanes=4, trials=3, retries=0, judge=None)}),
    ("agent", {"config": config_with({**AGENT, "model": "o4"})}),
    ("agent", {"config": config_with(limits={"max_steps": 5})}),
    ("judge", {"config": config_with(judge={"model": "o4"})}),
    ("judge", {"attempts": RULES}),
    ("browser", {"browser": "Chromium 2"}),
    ("config", {"model_calls": "replay"}),
    ("dataset", {"attempts": [tried("a", PASSED, row_hash="edited"), tried("b", FAILED)]}),
    ("dataset", {"attempts": [tried(name, PASSED) for name in "abc"]}),
)


def test_what_breaks_the_line(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each kind by its word; not commit, machine, gate, speed, repeats and rows nobody ran."""
    for number, (word, given) in enumerate(CASES):
        with subtests.test(given=given):
            home, manifest = tmp_path / str(number) / "shop", dict(given)
            both = tried("a", PASSED), tried("b", FAILED)
            leave_run(home, 1, *both)
            leave_run(home, 2, *manifest.pop("attempts", both), **manifest)
            assert changes_between(home.parent) == ([[word]] if word else [])


def test_graders_that_were_not_asked_or_have_many_rules(tmp_path: Path) -> None:
    """Errors keep graders from being asked: no other judge. Of a rule for each row the version counts."""
    home = tmp_path / "asked/shop"
    leave_run(home, 1, tried("a", PASSED), tried("b", FAILED, fingerprint="state/1/other"))
    for number, own in ((2, [tried("a", PASSED)]), (3, [])):
        broken = [graded(name, row_hash=f"row of {name}") for name in ("a", "b")[len(own) :]]
        leave_run(home, number, *own, *broken)
    leave_run(home, 4, tried("a", PASSED), tried("b", FAILED))
    assert changes_between(home.parent) == []
    for number, version in ((1, 1), (2, 1), (3, 2)):
        rules = (f"state/{version}/{row}" for row in range(9 if number == 2 else 12))
        rows = [tried(f"t{row}", PASSED, fingerprint=rule) for row, rule in enumerate(rules)]
        errored = [graded(f"t{row}", row_hash=f"row of t{row}") for row in range(len(rows), 12)]
        leave_run(tmp_path / "many/shop", number, *rows, *errored)
    assert changes_between(tmp_path / "many") == [["judge"]]


def test_a_variant_breaks_alone(tmp_path: Path) -> None:
    """Another variant's agent is none of its business, nor is a variant that is new."""
    for number, model in ((1, "x"), (2, "y")):
        variants = {"a": {"type": "noop"}, "b": {"type": "single", "model": model}}
        own = {"c": {"type": "noop"}} if number == 2 else {}
        attempts = [tried("t", PASSED, variant=name) for name in (*variants, *own)]
        leave_run(tmp_path / "shop", number, *attempts, config=config_with(variants={**variants, **own}))
    assert list(find_breaks(read_history(tmp_path).runs)) == [(f"shop/{name_of(2)}", "b")]


def test_only_whole_runs_are_in_the_line(tmp_path: Path) -> None:
    """Merged, partial and cut-off ones are no points; the others stand by their time, then by their names."""
    home, at = tmp_path / "shop", "2026-01-05T00:00:00Z"
    leave_run(home, 1, tried("a", PASSED), started_at=at)
    leave_run(home, 2, tried("a", PASSED), selected=5, browser="other")
    leave_run(home, 3, tried("a", PASSED), merged_from=["x", "y"], browser="other")
    RunStore(leave_run(home, 4, tried("a", PASSED), browser="other")).drop_summary()
    leave_run(home, 5, tried("a", FAILED), started_at="2026-01-01T00:00:00Z")
    leave_run(home, 6, tried("a", FAILED), started_at=at)
    history = read_history(tmp_path)
    (points,) = find_points(history.runs).values()
    assert [run.folder for run, _ in points] == [name_of(5), name_of(1), name_of(6)]
    assert find_breaks(history.runs) == {}


def test_without_a_manifest_nothing_can_be_compared(tmp_path: Path) -> None:
    """What a run was made of is unknown, so it stands alone."""
    for number in (1, 2, 3):
        leave_run(tmp_path / "shop", number, tried("a", PASSED))
    (tmp_path / "shop" / name_of(2) / "manifest.json").unlink()
    assert changes_between(tmp_path) == [["config"], ["config"]]
