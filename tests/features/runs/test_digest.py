"""What a digest has of a run, whatever is in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.runs.digest import RunDigest, State, digest_run
from pytest_browsereval.features.runs.report import make_report
from pytest_browsereval.features.shared.gates import GATE_FILE, write_gate
from pytest_browsereval.features.shared.report_text import draw_report
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.manifest import RESUMES_FILE
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.features.runs.conftest import day, leave_run, name_of, tried
from tests.recorded import ERRORED, FAILED, PASSED, write_summary

RESUMED: dict[str, Any] = {"resumed_at": "2026-01-02T00:00:00.000Z", "trials": 2, "finished": 1}
DRIFT = {**RESUMED, "git_branch": "main", "differences": ["config.limits.max_steps: 9 -> 2"]}


def digest_of(folder: Path) -> RunDigest:
    return digest_run(folder, f"{folder.parent.name}/{folder.name}")


def test_figures_are_those_of_the_summary(tmp_path: Path) -> None:
    """Rate, interval and cost as the run's own report has them; errored trials are in no rate."""
    attempts = [tried(f"t{n}", PASSED if n % 3 else FAILED, total_steps=n) for n in range(20)]
    folder = leave_run(tmp_path / "shop", 1, *attempts, tried("broken", ERRORED, total_steps=999), gate=False)
    found, summary = digest_of(folder), StoredRun(folder).summary
    whole = found.whole
    assert (whole.passed, whole.failed, whole.errored, whole.tasks) == (13, 7, 1, 21)
    assert whole.rate == summary.pass_rate
    assert summary.rate.interval is not None
    assert whole.interval == tuple(summary.rate.interval.as_json())
    assert whole.cost_usd == pytest.approx(5.25)
    assert whole.p95_steps == pytest.approx(18.05)  # of twenty judged ones, as the gate has it
    assert whole.p95_ms == 2000.0
    assert (found.eval, found.started_at, found.state) == ("shop", day(1), State.COMPLETE)
    assert (found.gate, found.missed) == (False, ("min_pass_rate",))
    (variant,) = found.variants
    assert (variant.name, variant.agent) == ("default", "single openai/gpt-4o")
    # The interval is the one that a gate decides by: trials of one task are alike.
    again = [tried(f"t{n}", PASSED if n else FAILED, trial=k) for n in range(3) for k in (1, 2, 3)]
    folder = leave_run(tmp_path / "shop", 2, *again)
    by_task = StoredRun(folder).summary.rate.by_task
    assert by_task is not None
    assert digest_of(folder).whole.interval == (by_task.interval.low, by_task.interval.high)


def test_attacks_are_in_the_note(tmp_path: Path) -> None:
    """No pass rate says how often an attack succeeded; the list and the page of runs show the note."""
    folder = leave_run(
        tmp_path / "shop",
        1,
        tried("t", PASSED),
        tried("t.under.x", FAILED, derived=Derived("attack", "x", "t")),
    )
    counts = {"attempts": 4, "delivered": 3, "compromised": 2}
    write_summary(RunStore(folder), attacks={"under_attack": counts}, selected=2, skipped=0)
    found = digest_of(folder)
    note = "compromised in 2 of 3 in which the attack was delivered, of 4 attempts under attack"
    assert (found.state, found.note, found.whole.rate) == (State.COMPLETE, note, 1.0)
    assert f"    {note}" in list(draw_report(make_report([found], {}, 1)))


SHARDS: dict[str, Any] = {"of": 2, "trials": [1, 1], "by": "hash"}


NOT_WHOLE: tuple[tuple[dict[str, Any], State, str], ...] = (
    ({"selected": 3}, State.PARTIAL, "2 of 3 trials have no result"),
    ({"shards": {**SHARDS, "have": [1]}}, State.PARTIAL, "shard 1/2"),
    ({"shards": {**SHARDS, "have": [1], "trials": [1, 0]}}, State.COMPLETE, ""),
    ({"shards": {**SHARDS, "have": [1, 2]}, "merged_from": ["x", "y"]}, State.MERGED, "merged from 2 runs"),
    ({"shards": {**SHARDS, "have": [1]}, "merged_from": ["x"]}, State.PARTIAL, "merged from 1 runs"),
    ({"merged_from": ["x", "y"]}, State.MERGED, "merged from 2 runs"),
)


def test_what_is_not_whole_says_why(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Runs that lack trials, shards, and merged runs."""
    for number, (manifest, state, note) in enumerate(NOT_WHOLE):
        with subtests.test(manifest=manifest):
            found = digest_of(leave_run(tmp_path / str(number), 1, tried("a", PASSED), **manifest))
            assert (found.state, found.note) == (state, note)


def test_without_a_summary_there_is_no_rate(tmp_path: Path) -> None:
    """It was cut off, or still runs: what there is of it is no figure of the run."""
    folder = leave_run(tmp_path / "shop", 1, tried("a", PASSED), gate=True)
    RunStore(folder).drop_summary()
    found = digest_of(folder)
    assert (found.state, found.whole.rate, found.gate) == (State.UNFINISHED, None, None)
    assert [one.agent for one in found.variants] == ["single openai/gpt-4o"]


def test_what_is_damaged_is_told(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The run is listed: without a rate, or by the names of its folders, which say eval and time."""
    won = b'{"results": [{"query_id": "a", "variant": "v", "trial": 1, "verdict": "won"}]}'
    for number, summary in enumerate((b"{", b"[]", b'{"results": 7}', won, b"[" * 100_000)):
        with subtests.test(summary=summary[:20]):
            folder = leave_run(tmp_path / f"s{number}", 1, tried("a", PASSED))
            (folder / "summary.json").write_bytes(summary)
            found = digest_of(folder)
            assert (found.state, found.whole.rate) == (State.DAMAGED, None)
            assert found.note.startswith("summary.json is damaged: ")
    for number, manifest in enumerate((b"", b"[]", b'{"started_at": 7, "config": [], "name": {}}')):
        with subtests.test(manifest=manifest):
            folder = leave_run(tmp_path / f"m{number}", 1, tried("a", PASSED))
            (folder / "manifest.json").write_bytes(manifest)
            found = digest_of(folder)
            assert (found.eval, found.started_at, found.state) == (f"m{number}", day(1), State.COMPLETE)
            assert found.whole.rate == 1.0
            assert not any(one.made_of for one in found.variants if number < 2)


def test_a_gate_counts_for_its_own_summary(tmp_path: Path) -> None:
    """When the run is summed up again, what its gate once came to says nothing of it."""
    folder = leave_run(tmp_path / "shop", 1, tried("a", PASSED), gate=True)
    assert digest_of(folder).gate is True
    (folder / GATE_FILE).write_text('{"is_met": "yes"}')
    assert digest_of(folder).gate is None
    leave_run(tmp_path / "shop", 2, tried("a", PASSED), gate=True)
    other = RunStore(tmp_path / "shop" / name_of(2))
    write_summary(other, selected=1, skipped=0, added=1)
    assert digest_of(other.root).gate is None


def test_all_rules_that_were_not_met_are_named(tmp_path: Path) -> None:
    """Undecided ones that the gate does not accept, and those behind many that were met."""
    folder = leave_run(tmp_path / "shop", 1, tried("t", FAILED), gate=False)
    met = [RuleResult(f"must_pass[{number}]", is_met=True, message="") for number in range(30)]
    unsure = [
        RuleResult(name, is_met=is_met, message="", is_undecided=True)
        for name, is_met in (("open", False), ("accepted", True))
    ]
    write_gate(folder, [*met, *unsure, RuleResult("last", is_met=False, message="")])
    assert digest_of(folder).missed == ("open", "last")


SESSIONS: tuple[tuple[dict[str, Any], str | None, State, str], ...] = (
    ({**RESUMED, "git_branch": "main"}, "main", State.COMPLETE, ""),
    ({**RESUMED, "git_branch": "topic"}, None, State.COMPLETE, ""),
    ({**RESUMED, "git_branch": "topic", "finished": 2}, "main", State.COMPLETE, ""),
    (DRIFT, "main", State.PARTIAL, "resumed anyway: config.limits.max_steps: 9 -> 2"),
    ({"browser": "Chromium 2"}, "main", State.MERGED, "resumed with another browser: Chromium 2"),
)


def test_a_run_that_was_resumed_as_something_else(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Trials of another branch, config or browser are in it; a line that was cut is passed over."""
    for number, (line, branch, state, note) in enumerate(SESSIONS):
        with subtests.test(line=line):
            both = tried("a", PASSED), tried("b", PASSED)
            folder = leave_run(tmp_path / str(number), 1, *both, git_branch="main")
            (folder / RESUMES_FILE).write_text(f'{json.dumps(line)}\n{{"resu')
            found = digest_of(folder)
            assert (found.branch, found.state, found.note) == (branch, state, note)
