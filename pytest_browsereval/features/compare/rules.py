"""Rules of a gate that compare with a baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from pytest_browsereval.analysis.gate import NAMED, ROUNDING, build_undecided
from pytest_browsereval.analysis.quarantine import find_quarantined
from pytest_browsereval.config import EvalConfig, GateConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import check_readable, read_run
from pytest_browsereval.features.compare.compare import Change, RunComparison, compare
from pytest_browsereval.features.shared.paired import MARGIN
from pytest_browsereval.model.display import digits_apart, format_count, join_first, one_line, plain
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.stats.statistics import CONFIDENCE


def lacks_baseline(gate: GateConfig) -> str:
    """Return what to say of rules that compare with nothing; "" if there are none."""
    if gate.baseline is not None or not gate.compares:
        return ""
    return (
        f"{gate.compares[0]} needs a baseline. Write `baseline: results/NAME/TIME-LETTERS`, or name a run on "
        "the command line (--eval-baseline=RUN, of `browsereval gate` --baseline=RUN)."
    )


def check_baseline(config: EvalConfig) -> None:
    """Refuse a gate whose baseline is not there, before anything is spent.

    Raises:
        ConfigError: with file and line.
    """
    if lacking := lacks_baseline(config.gate):
        raise config.wrong(("gate", config.gate.compares[0]), lacking)
    if config.gate.baseline is not None:
        try:
            check_readable(config.base_dir / config.gate.baseline)  # before a model is paid
        except UsageError as error:
            raise config.wrong(("gate", "baseline"), error) from None


def judge_run(run: StoredRun, gate: GateConfig) -> list[RuleResult]:
    """Return what the rules say that compare; all are missed where the two cannot be compared.

    Args:
        run: whose gate is decided.
        gate: the rules, with the absolute path of their baseline.
    """
    try:
        out = find_quarantined(gate, (trial.last.started_at for trial in run.summary.trials))
        return list(_judge(gate, compare_with_baseline(gate, run, left_out=out)))
    except UsageError as error:
        why = one_line(str(error), 400)
        return [RuleResult(name, is_met=False, message=why) for name in gate.compares]


def compare_with_baseline(
    gate: GateConfig, run: StoredRun, *, left_out: Collection[str] = ()
) -> RunComparison:
    """Compare a run with the baseline of its gate.

    Args:
        gate: the rules, with the absolute path of the baseline.
        run: whose gate is decided.
        left_out: ids of tasks that do not count.

    Raises:
        UsageError: the baseline cannot be read, or nothing can be compared.
    """
    if gate.baseline is None:
        raise UsageError(lacks_baseline(gate))
    baseline = read_run(gate.baseline)
    for one, label in ((baseline, "the baseline"), (run, "this run")):
        if all(trial.last.query_id in left_out for trial in one.summary.plain):
            raise UsageError(f"{label} has no result of a task that is not in quarantine")
    margin = MARGIN if gate.max_drop is None else gate.max_drop
    confidence = gate.confidence or CONFIDENCE
    return compare(baseline, run, margin=margin, confidence=confidence, left_out=left_out)


def _judge(gate: GateConfig, compared: RunComparison) -> Iterator[RuleResult]:
    if not compared.whole.compared:
        lost = compared.whole.of(Change.ONLY_A)
        why = f"no task was judged both here and in {one_line(compared.a.name, 60)}"
        tasks = tuple(pair.query_id for pair in lost)
        yield from (RuleResult(name, is_met=False, message=why, tasks=tasks) for name in gate.compares)
        return
    if gate.max_regressions is not None:
        yield _judge_regressions(compared, gate.max_regressions)
    if gate.max_drop is not None:
        yield _judge_drop(compared, gate.max_drop, gate)


def _judge_regressions(compared: RunComparison, ceiling: int) -> RuleResult:
    whole = compared.whole
    gone = [pair for pair in whole.of(Change.ONLY_A) if pair.a is not None and pair.a.rate]
    bad = [pair.query_id for pair in (*whole.of(Change.LOST), *gone)]
    listed = f" ({join_first([one_line(name, 60) for name in bad], NAMED)})" if bad else ""
    without = f", {len(gone)} of them without a result" if gone else ""
    kinds = (Change.NEWLY_ERRORED, Change.EDITED, Change.ONLY_B)
    left = [f"{whole.counts[change]} {change}" for change in kinds if whole.counts[change]]
    if lacks := whole.rate_a.not_run:
        left.append(f"{format_count(lacks, 'trial')} without a result in the baseline")
    also = f". Not counted: {', '.join(left)}" if left else ""
    message = f"{format_count(len(bad), 'task')} regressed against {one_line(compared.a.name, 60)}{listed}"
    message += f"{without}; {ceiling:,} {'is' if ceiling == 1 else 'are'} allowed{also}"
    return RuleResult("max_regressions", len(bad) <= ceiling, message, tasks=tuple(bad))


def _judge_drop(compared: RunComparison, ceiling: float, gate: GateConfig) -> RuleResult:
    one = compared.whole.paired
    assert one.value is not None  # noqa: S101 some tasks were judged in both
    low = high = one.value
    if gate.confidence is not None and one.interval is not None:
        low, high = one.interval.low, one.interval.high
    digits = digits_apart(-ceiling, one.value, low, high, write=_points)
    figures = (
        f"pass rate {_points(one.value, digits)} points against {one_line(compared.a.name, 60)} "
        f"({format_count(one.tasks, 'task')} in both, {one.gained} gained, {one.lost} lost)"
    )
    if gate.confidence is not None:
        ends = f"{_points(low, digits)} to {_points(high, digits)}"
        figures += f", {gate.confidence * 100:g} % interval {ends},"
    allowed = f"the allowed drop of {plain(ceiling * 100, digits)} points"
    worse = [pair.query_id for pair in compared.whole.compared if pair.cell and pair.cell.difference < 0]
    is_met, is_missed = low >= -ceiling - ROUNDING, high < -ceiling - ROUNDING
    if is_met or is_missed:
        message = f"{figures} is {'within' if is_met else 'over'} {allowed}"
        found = RuleResult("max_drop", is_met, message)
    else:
        more = one.more_tasks_beside(-ceiling)
        many = "no number of such tasks" if more is None else f"about {format_count(more, 'more task')}"
        message = f"{figures} is neither within nor over {allowed}; {many} would decide"
        found = build_undecided("max_drop", message, gate)
    return replace(found, tasks=tuple(dict.fromkeys(worse)))


def _points(share: float, digits: int) -> str:
    return f"{share * 100:+.{digits}f}"
