"""Runs are in one line while nothing but the code under test has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.runs.breaks import find_breaks, find_points
from pytest_browsereval.features.runs.digest import State
from pytest_browsereval.features.runs.history import read_history
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import AGENT, config_with, leave_run, name_of, tried
from tests.labelled import graded
from tests.recorded import FAILED, PASSED, write_summary


def changes_between(results: Path) -> list[Mapping[str, Sequence[str]]]:
    return [found.changes for found in find_breaks(read_history(results)).values()]


def leave_two(results: Path, *attempts: Any, **manifest: Any) -> None:
    """Leave a run, and one of another day that differs in what is given."""
    leave_run(results / "shop", 1, tried("a", PASSED), tried("b", FAILED))
    leave_run(results / "shop", 2, *(attempts or (tried("a", FAILED), tried("b", PASSED))), **manifest)


RULES = [tried(name, verdict, fingerprint="state/2/0") for name, verdict in (("a", PASSED), ("b", FAILED))]
OTHERS = [tried("a", PASSED, row_hash="edited"), *(tried(f"c{n}", PASSED) for n in range(5))]
SAME: tuple[dict[str, Any], ...] = (
    {},
    {"git_commit": "another"},
    {"python": "3.14", "packages": {"playwright": "9"}, "platform": "darwin"},
    {"datasets": [{"file": "rows.jsonl", "sha256": "of other rows"}]},
    {"config": config_with(gate={"min_pass_rate": 1}, lanes=4, trials=3, retries=0, judge=None)},
)
EDITS = "5 tasks added: c0, c1, c2 and 2 more|1 task removed: b|1 task edited: a"
BREAKS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("agent", {"config": config_with({**AGENT, "model": "o4"})}, "default.model: gpt-4o -> o4"),
    ("agent", {"config": config_with(limits={"max_steps": 5})}, "config.limits.max_steps: 9 -> 5"),
    (
        "agent",
        {"config": config_with({**AGENT, "api_key": "sk-0123456789abcdef"})},
        "default.api_key: none -> ***",
    ),
    ("agent", {"tool_schema_hash": "0"}, "tool_schema_hash: none -> 0"),
    ("judge", {"config": config_with(judge={"model": "o4"})}, "config.judge: none -> {'model': 'o4'}"),
    ("judge", {"attempts": RULES}, "grader state: state/1/0 -> state/2/0"),
    ("browser", {"browser": "Chromium 2"}, "Chromium 1 -> Chromium 2"),
    ("config", {"model_calls": "replay"}, "model_calls: none -> replay"),
    (
        "dataset",
        {"attempts": OTHERS},
        "5 tasks added: c0, c1, c2 and 2 more|1 task removed: b|1 task edited: a",
    ),
)


def test_what_breaks_the_line(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each kind by its word and values; not commit, machine, gate, speed, repeats and rows nobody ran."""
    same = [("", manifest, "") for manifest in SAME]
    for number, (word, given, line) in enumerate((*same, *BREAKS)):
        with subtests.test(given=given):
            manifest = dict(given)
            leave_two(tmp_path / str(number), *manifest.pop("attempts", ()), **manifest)
            assert changes_between(tmp_path / str(number)) == ([{word: line.split("|")}] if word else [])


def test_rows_that_somebody_selected_break_nothing(tmp_path: Path) -> None:
    """A run of fewer rows of the same files is partial, be it the newest; a shorter file is another one."""
    files = [{"file": "rows.jsonl", "sha256": "1"}]
    both = tried("a", PASSED), tried("b", FAILED)
    for number, own in ((1, both[:1]), (2, both), (3, both[1:]), (4, both), (5, both[:1])):
        leave_run(tmp_path / "shop", number, *own, datasets=files)
    history = read_history(tmp_path)
    notes = {run.folder: run.note for run in history.runs if run.state is State.PARTIAL}
    assert notes == {name_of(number): "1 of 2 tasks were selected" for number in (5, 3, 1)}
    assert find_breaks(history) == {}
    leave_run(tmp_path / "shop", 6, *both[:1], datasets=[{"file": "rows.jsonl", "sha256": "2"}])
    assert changes_between(tmp_path) == [{"dataset": ["1 task removed: b"]}]


def test_a_grader_that_was_not_asked_breaks_nothing(tmp_path: Path) -> None:
    """Errors keep graders from being asked; that is no other judge."""
    leave_run(tmp_path / "shop", 1, tried("a", PASSED), tried("b", FAILED, fingerprint="state/1/other"))
    for number, own in ((2, [tried("a", PASSED)]), (3, [])):
        broken = [graded(name, row_hash=f"row of {name}") for name in ("a", "b")[len(own) :]]
        leave_run(tmp_path / "shop", number, *own, *broken)
    leave_run(tmp_path / "shop", 4, tried("a", PASSED), tried("b", FAILED))
    assert changes_between(tmp_path) == []


def test_many_rules_of_a_grader(tmp_path: Path) -> None:
    """Where each row has its own the rows' hashes count; the version of the grader is left to compare."""
    for number, version in ((1, 1), (2, 1), (3, 2)):
        rules = (f"state/{version}/{row}" for row in range(9 if number == 2 else 12))
        rows = [tried(f"t{row}", PASSED, fingerprint=rule) for row, rule in enumerate(rules)]
        errored = [graded(f"t{row}", row_hash=f"row of t{row}") for row in range(len(rows), 12)]
        leave_run(tmp_path / "shop", number, *rows, *errored)
    assert changes_between(tmp_path) == [{"judge": ["grader state: state/1/* -> state/2/*"]}]


def test_a_variant_breaks_alone(tmp_path: Path) -> None:
    """Another variant's agent is none of its business, nor is a variant that is new."""
    for number, model in ((1, "x"), (2, "y")):
        variants = {"a": {"type": "noop"}, "b": {"type": "single", "model": model}}
        own = {"c": {"type": "noop"}} if number == 2 else {}
        attempts = [tried("t", PASSED, variant=name) for name in (*variants, *own)]
        leave_run(tmp_path / "shop", number, *attempts, config=config_with(variants={**variants, **own}))
    assert list(find_breaks(read_history(tmp_path))) == [(f"shop/{name_of(2)}", "b")]


def test_only_whole_runs_are_in_the_line(tmp_path: Path) -> None:
    """Merged, partial and cut-off ones are no points, and those beside them are compared with each other."""
    leave_run(tmp_path / "shop", 1, tried("a", PASSED))
    leave_run(tmp_path / "shop", 2, tried("a", PASSED), selected=5, browser="other")
    leave_run(tmp_path / "shop", 3, tried("a", PASSED), merged_from=["x", "y"], browser="other")
    RunStore(leave_run(tmp_path / "shop", 4, tried("a", PASSED), browser="other")).drop_summary()
    leave_run(tmp_path / "shop", 5, tried("a", FAILED))
    history = read_history(tmp_path)
    (points,) = find_points(history.runs).values()
    assert [run.folder for run, _ in points] == [name_of(1), name_of(5)]
    assert find_breaks(history) == {}


def test_without_a_manifest_nothing_can_be_compared(tmp_path: Path) -> None:
    """What a run was made of is unknown, so it stands alone."""
    for number in (1, 2, 3):
        leave_run(tmp_path / "shop", number, tried("a", PASSED))
    (tmp_path / "shop" / name_of(2) / "manifest.json").unlink()
    assert [list(one) for one in changes_between(tmp_path)] == [["config"], ["config"]]


def test_a_clock_that_was_an_hour_off(tmp_path: Path) -> None:
    """Runs stand by their time, and two of one time by their names."""
    for number, at in ((1, "2026-01-05T10:00:00Z"), (2, "2026-01-05T09:00:00Z"), (3, "2026-01-05T10:00:00Z")):
        leave_run(tmp_path / "shop", number, tried("a", PASSED), started_at=at)
    (points,) = find_points(read_history(tmp_path).runs).values()
    assert [run.folder for run, _ in points] == [name_of(2), name_of(1), name_of(3)]


def test_a_summary_that_is_gone_meanwhile(tmp_path: Path) -> None:
    """What has changed is then unknown in part, and nothing breaks."""
    leave_two(tmp_path, browser="other")
    history = read_history(tmp_path)
    (tmp_path / "shop" / name_of(1) / "summary.json").unlink()
    (found,) = find_breaks(history).values()
    assert "browser" in found.changes
    write_summary(RunStore(tmp_path / "shop" / name_of(1)))
