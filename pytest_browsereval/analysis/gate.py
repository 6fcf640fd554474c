"""Whether a run is good enough, decided from its summary by the config's rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.config import GateConfig
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict


@dataclass(frozen=True)
class RuleResult:
    """What one rule of the gate says."""

    name: str
    is_met: bool
    message: str
    """The figures it rests on, in one line."""


def decide(summary: RunSummary, gate: GateConfig) -> tuple[RuleResult, ...]:
    """Return the result of each rule that the gate sets; the gate is met if all are."""
    return tuple(_rules(summary, gate))


def _rules(summary: RunSummary, gate: GateConfig) -> Iterator[RuleResult]:
    if gate.min_pass_rate is not None:
        yield _min_pass_rate(summary, gate.min_pass_rate)
    for query_id in gate.must_pass:
        yield _must_pass(summary, query_id)
    if gate.max_error_rate is not None:
        yield _max_error_rate(summary, gate.max_error_rate)


def _min_pass_rate(summary: RunSummary, floor: float) -> RuleResult:
    name, rate = "min_pass_rate", summary.pass_rate
    if rate is None:
        return RuleResult(name, is_met=False, message="no trial was judged, so there is no pass rate")
    passed = summary.count(Verdict.PASSED)
    relation = "meets" if rate >= floor else "is under"
    return RuleResult(
        name,
        is_met=rate >= floor,
        message=f"pass rate {rate:.1%} ({passed}/{summary.judged}) {relation} {floor:.1%}",
    )


def _must_pass(summary: RunSummary, query_id: str) -> RuleResult:
    trials = [t.metadata for t in summary.trials if t.metadata.query_id == query_id]
    bad = [t for t in trials if t.verdict is not Verdict.PASSED]
    name = f"must_pass[{safe_id(query_id)}]"  # part of a node id, like the row's own name
    shown = one_line(query_id, 60)
    if not trials:
        return RuleResult(name, is_met=False, message=f"{shown} has no result in this run")
    if bad:
        why = f"{shown} {bad[0].verdict}: {one_line(bad[0].reason)}"
        return RuleResult(name, is_met=False, message=why)
    return RuleResult(name, is_met=True, message=f"{shown} passed")


def _max_error_rate(summary: RunSummary, ceiling: float) -> RuleResult:
    rate, errored = summary.error_rate, summary.count(Verdict.ERRORED)
    if rate is None:
        return RuleResult("max_error_rate", is_met=False, message="no trial has a result")
    relation = "is within" if rate <= ceiling else "is over"
    return RuleResult(
        "max_error_rate",
        is_met=rate <= ceiling,
        message=f"error rate {rate:.1%} ({errored}/{len(summary.trials)}) {relation} {ceiling:.1%}",
    )
