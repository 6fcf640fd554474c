"""Rules of a gate that compare with a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_browsereval.analysis.gate import NAMED, ROUNDING, build_undecided
from pytest_browsereval.analysis.quarantine import find_quarantined
from pytest_browsereval.config import GateConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import against_baseline
from pytest_browsereval.features.compare.compare import Change, RunComparison
from pytest_browsereval.model.display import digits_apart, format_count, join_first, one_line, plain
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.run import StoredRun


def judge_run(run: StoredRun, gate: GateConfig) -> list[RuleResult]:
    """Return what the rules say that compare; all are missed where the two cannot be compared.

    Args:
        run: whose gate is decided.
        gate: the rules, with the absolute path of their baseline.
    """
    compared: RunComparison | str | None = None
    try:
        out = find_quarantined(gate, (trial.last.started_at for trial in run.summary.trials))
        compared = against_baseline(gate, run, left_out=out)
    except UsageError as error:
        compared = str(error)
    return list(judge_baseline(gate, compared))


def judge_baseline(gate: GateConfig, compared: RunComparison | str | None) -> Iterator[RuleResult]:
    """Yield the results of the rules that compare with a baseline.

    Args:
        gate: the rules.
        compared: the run with the baseline, or why the two cannot be compared.
    """
    rules = gate.compares
    if not isinstance(compared, RunComparison):
        why = one_line(compared or "the run was not compared with a baseline", 400)
        yield from (RuleResult(name, is_met=False, message=why) for name in rules)
        return
    if gate.max_regressions is not None:
        yield _max_regressions(compared, gate.max_regressions)
    if gate.max_drop is not None:
        yield _max_drop(compared, gate.max_drop, gate)


def _max_regressions(compared: RunComparison, ceiling: int) -> RuleResult:
    whole, name = compared.whole, "max_regressions"
    gone = [pair for pair in whole.of(Change.ONLY_A) if pair.a is not None and pair.a.rate]
    bad = [*whole.of(Change.LOST), *gone]
    left = [
        f"{whole.counts[change]} {change}"
        for change in (Change.NEWLY_ERRORED, Change.EDITED)
        if whole.counts[change]
    ]
    if new := whole.counts[Change.ONLY_B]:
        left.append(f"{new} that the baseline lacks")
    also = f". Not counted: {', '.join(left)}" if left else ""
    if lacks := whole.rate_a.excluded.get("not run", 0):
        also += f". The baseline has no result of {format_count(lacks, 'trial')}"
    if not bad and not whole.compared:
        return RuleResult(name, is_met=False, message=_none_in_both(compared) + also)
    listed = f" ({join_first([one_line(pair.query_id, 60) for pair in bad], NAMED)})" if bad else ""
    without = f", {len(gone)} of them without a result" if gone else ""
    message = (
        f"{len(bad)} regressed against {one_line(compared.a.name, 60)}{listed}{without}; at most {ceiling}"
    )
    tasks = tuple(pair.query_id for pair in bad)
    return RuleResult(name, len(bad) <= ceiling, message + also, tasks=tasks)


def _none_in_both(compared: RunComparison) -> str:
    return f"no task was judged both here and in {one_line(compared.a.name, 60)}"


def _max_drop(compared: RunComparison, ceiling: float, gate: GateConfig) -> RuleResult:
    name, one = "max_drop", compared.whole.paired
    if one.value is None or one.interval is None:
        return RuleResult(name, is_met=False, message=_none_in_both(compared))
    low = high = one.value
    if gate.confidence is not None:
        low, high = one.interval.low, one.interval.high
    digits = digits_apart(-ceiling, one.value, low, high, write=_points)
    figures = (
        f"pass rate {_points(one.value, digits)} points against {one_line(compared.a.name, 60)} "
        f"({format_count(one.tasks, 'task')} in both, {one.gained} gained, {one.lost} lost)"
    )
    if gate.confidence is not None:
        ends = f"{_points(low, digits)} to {_points(high, digits)}"
        figures += f", {gate.confidence * 100:g} % interval {ends},"
    allowed = f"{plain(ceiling * 100, digits)} points"
    worse = [pair.query_id for pair in compared.whole.compared if pair.cell and pair.cell.difference < 0]
    tasks = tuple(dict.fromkeys(worse))
    if low >= -ceiling - ROUNDING:
        return RuleResult(name, is_met=True, message=f"{figures} is within a drop of {allowed}", tasks=tasks)
    if high < -ceiling - ROUNDING:
        return RuleResult(name, is_met=False, message=f"{figures} is over a drop of {allowed}", tasks=tasks)
    more = one.more_tasks_beside(-ceiling)
    many = "no number of tasks like these" if more is None else f"about {format_count(more, 'more task')}"
    message = f"{figures} is neither within nor over a drop of {allowed}; {many} would decide"
    return replace(build_undecided(name, message, gate), tasks=tasks)


def _points(share: float, digits: int) -> str:
    return f"{share * 100:+.{digits}f}"
