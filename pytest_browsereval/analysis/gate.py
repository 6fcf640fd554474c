"""The gate: decides by the config's rules whether a run is good enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from pytest_browsereval.analysis.quarantine import describe_quarantine, find_quarantined, is_quarantined
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.errors import name_raised
from pytest_browsereval.model.derived import find_outcome, find_score
from pytest_browsereval.model.display import digits_apart, format_count, one_line, percent, plain
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.repeats import count_tasks, task_rate
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.stats.statistics import (
    CONFIDENCE,
    POWER,
    Interval,
    Share,
    percentile,
    quantile,
    students_t,
)

if TYPE_CHECKING:  # `compare` and others need no config, which takes 0.1 s
    from pytest_browsereval.config import GateConfig
    from pytest_browsereval.config.gate import GateRule

# A message is one line of a terminal or of a comment; the run's page has all tasks.
NAMED = 5

# Ten times 0.1 is not 1 in floating point: a sum above its limit by less than this is at it.
ROUNDING = 1e-9


# From so many tasks on Student's t is as good as normal, and no search is needed.
_MANY = 100


def decide(
    summary: RunSummary, gate: GateConfig, against: Sequence[RuleResult] = ()
) -> tuple[RuleResult, ...]:
    """Return the result of each rule that the gate sets; the gate is met if all are.

    Args:
        summary: of the run.
        gate: the rules.
        against: what the rules say that compare with the gate's baseline, and results that stand in for those
            of other rules.
    """
    instead = {rule.name: rule for rule in against}
    found = {rule.name: instead.get(rule.name, rule) for rule in _rules(summary, gate, against)}
    return tuple(found.values())


def _rules(summary: RunSummary, gate: GateConfig, against: Sequence[RuleResult]) -> Iterator[RuleResult]:
    """Yield the results in the order of the report.

    A new rule is a key of ``GateConfig`` and a branch here, or a line of ``MEASURES`` or ``FIGURES`` if it
    limits what a judged trial takes.
    """
    whole = [trial.last for trial in summary.trials]
    out = find_quarantined(gate, (one.started_at for one in whole))
    counted = [one for one in whole if not is_quarantined(one, out)]
    data = [one for one in counted if one.derived is None]
    if gate.quarantine:
        yield RuleResult("quarantine", is_met=True, message=describe_quarantine(gate, whole, out))
    if gate.min_pass_rate is not None:
        yield _floor("min_pass_rate", "", data, gate.min_pass_rate, gate)
    if gate.min_task_rate is not None:
        yield _task_rate(data, gate.min_task_rate, gate)
    yield from _parts(data, counted, gate)
    yield from _check_pinned(whole, gate)
    if gate.max_error_rate is not None:
        yield _max_error_rate(counted, gate.max_error_rate, summary.deaths)
    if gate.max_cost_usd is not None:
        yield _max_cost(summary.cost_usd, gate.max_cost_usd)
    yield from _per_trial(data, gate)
    yield from against
    yield from _miss_undecided(gate, against)
    yield from _check_plugged(data, gate)


def _check_pinned(whole: Sequence[StoredAttempt], gate: GateConfig) -> Iterator[RuleResult]:
    by_id: dict[str, list[StoredAttempt]] = {query_id: [] for query_id in gate.must_pass}
    # One pass over the data: a gate may name thousands of rows.
    for one in whole if by_id else ():
        if one.query_id in by_id:
            by_id[one.query_id].append(one)
    for query_id, trials in by_id.items():
        yield _must_pass(query_id, trials, gate.passed_trials)


def _check_plugged(data: Sequence[StoredAttempt], gate: GateConfig) -> Iterator[RuleResult]:
    for place, rule in enumerate(gate.rules):
        number = sum(one.type == rule.type for one in gate.rules[: place + 1])
        shown = safe_id(rule.type).replace(safe_id("/"), "/")  # as it is written: `gate::acme/steps`
        yield _check_own(rule, shown if number == 1 else f"{shown}[{number}]", data, gate)


def _miss_undecided(gate: GateConfig, against: Sequence[RuleResult]) -> Iterator[RuleResult]:
    """Yield as missed the rules of features that nobody has looked at: the gate would be green without."""
    looked_at = {rule.name for rule in against}
    whys = dict.fromkeys(gate.compares, "the run was not compared with a baseline")
    whys |= dict.fromkeys(gate.of_features, "the feature that decides it is left out")
    for name, why in whys.items():
        if name not in looked_at:
            yield RuleResult(name, is_met=False, message=why)


def _check_own(rule: GateRule, name: str, data: Sequence[StoredAttempt], gate: GateConfig) -> RuleResult:
    """Return the result of a plug-in's rule; one that raises is not met."""
    try:
        result: object = rule.check(data)
        tasks = tuple(map(str, result.tasks)) if isinstance(result, RuleResult) else ()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 what pytest's functions raise too: no row is judged here
        message = f"the rule {rule.type!r} broke: {name_raised(error)}: {error}"
        return RuleResult(name, is_met=False, message=one_line(redact_known(message), 400))
    if not isinstance(result, RuleResult):
        message = f"the rule {rule.type!r} returned {type(result).__name__}, not a RuleResult"
        return RuleResult(name, is_met=False, message=message)
    # A rule may hold a token, and neither `browsereval gate` nor the terminal looks at its words again.
    message = one_line(redact_known(str(result.message)), 400)
    if result.is_undecided:  # `gate.undecided` says what becomes of it, not the rule
        return build_undecided(name, message, gate)
    return replace(result, name=name, is_met=result.is_met is True, message=message, tasks=tasks)


# -- pass rates


def _parts(
    data: Sequence[StoredAttempt], whole: Sequence[StoredAttempt], gate: GateConfig
) -> Iterator[RuleResult]:
    kinds: tuple[tuple[str, str, Mapping[str, float], Callable[[StoredAttempt, str], bool]], ...] = (
        ("tags", "tag", gate.tags, lambda one, name: name in one.tags),
        ("websites", "website", gate.websites, lambda one, name: one.website == name),
        ("variants", "variant", gate.variants, lambda one, name: one.variant == name),
    )
    for kind, word, floors, has in kinds:
        for name, floor in floors.items():
            trials = [one for one in data if has(one, name)]
            rule, shown = f"{kind}[{safe_id(name)}]", one_line(name, 60)
            if trials:
                yield _floor(rule, f" of {shown}", trials, floor, gate)
            else:
                message = f"no trial of this run has the {word} {shown}"
                if marks := sorted({one.derived.by for one in whole if one.derived and has(one, name)}):
                    message += f" except those under {' or '.join(marks)}, which have rules of their own"
                yield RuleResult(rule, is_met=False, message=message)


def _floor(
    name: str, subject: str, data: Iterable[StoredAttempt], floor: float, gate: GateConfig
) -> RuleResult:
    rate = pass_rate(data, confidence=gate.confidence or CONFIDENCE)
    if rate.value is None:
        message = f"no trial{subject} was judged, so there is no pass rate"
        return RuleResult(name, is_met=False, message=message)
    return judge_rate(name, f"pass rate{subject}", rate, floor, gate)


def judge_rate(
    name: str,
    what: str,
    rate: PassRate,
    bound: float,
    gate: GateConfig,
    *,
    is_ceiling: bool = False,
    tail: str = "",
) -> RuleResult:
    """Return whether a rate keeps to a bound; with ``gate.confidence``, whether all of its interval does.

    Args:
        name: of the rule.
        what: the rate is of, for the message.
        rate: the share.
        bound: the smallest that it may be, or the largest.
        gate: whose rule it is.
        is_ceiling: whether it is the largest.
        tail: ends the message; by default how many more trials would decide what is undecided.
    """
    if rate.value is None:
        return RuleResult(name, is_met=False, message=f"there is no rate: {tail}")
    ends = rate.by_task.interval if rate.by_task else rate.interval
    is_proved = gate.confidence is not None and bound not in (0, 1)  # no share of them can prove all
    low, high = (ends.low, ends.high) if is_proved and ends is not None else (rate.value, rate.value)
    digits = digits_apart(bound, rate.value, low, high)
    limit, tail = percent(bound, digits), tail and f"; {tail}"
    figures = f"{what} {percent(rate.value, digits)} ({rate.passed}/{rate.judged})"
    if is_proved and rate.is_of_one_task:
        return build_undecided(name, f"{figures} neither meets nor misses {limit}: {_ONE_TASK}{tail}", gate)
    if gate.confidence is not None and is_proved:
        figures += f", {_ends(Interval(low, high), gate.confidence, digits)},"
    is_met = high <= bound + ROUNDING if is_ceiling else low >= bound - ROUNDING
    is_missed = low > bound + ROUNDING if is_ceiling else high < bound - ROUNDING
    if not (is_met or is_missed):
        tail = tail or f"; {_more(rate, bound)}"
        return build_undecided(name, f"{figures} neither meets nor misses {limit}{tail}", gate)
    words = ("is over", "is within") if is_ceiling else ("is under", "meets")
    return RuleResult(name, is_met, f"{figures} {words[is_met]} {limit}{tail}")


_ONE_TASK = "it is all of one task, which does not show how tasks differ"


def build_undecided(name: str, message: str, gate: GateConfig) -> RuleResult:
    """Return a rule that the figures do not decide; ``gate.undecided`` says what becomes of it."""
    return RuleResult(name, gate.undecided == "pass", message, is_undecided=True)


def _ends(interval: Interval, confidence: float, digits: int) -> str:
    low, high = percent(interval.low, digits), percent(interval.high, digits)
    return f"{confidence * 100:g} % interval {low} to {high}"


def _more(rate: PassRate, floor: float) -> str:
    """Return how many more trials would decide, with a power of 80 %, if they are like these.

    Where tasks have several trials these are tasks: further trials of the same ones add less and less.
    """
    have, cases, word = rate.judged, float(rate.judged), "trial"
    if rate.by_task is not None:
        have, cases, word = rate.by_task.groups, rate.by_task.cases, "task"
    distance = abs((rate.value or 0.0) - floor)
    ratio = quantile(rate.confidence) + quantile(2 * POWER - 1)
    if distance * distance * 1e7 < ratio * ratio * floor * (1 - floor):
        return f"no number of {word}s like these would decide"
    needed = math.ceil(ratio * ratio * floor * (1 - floor) / (distance * distance) * have / cases)
    if rate.by_task is not None:  # few tasks: Student's t is far from normal
        needed = max(needed, have + 1)
        while needed < _MANY and not _tells(needed * cases / have, needed, distance, floor, rate.confidence):
            needed += 1
    return f"about {format_count(max(1, needed - have), f'more {word}')} would decide"


def _tells(cases: float, tasks: int, distance: float, floor: float, confidence: float) -> bool:
    reach = students_t(tasks - 1, confidence) + quantile(2 * POWER - 1)
    return distance * distance * cases >= reach * reach * floor * (1 - floor)


def _task_rate(data: Iterable[StoredAttempt], floor: float, gate: GateConfig) -> RuleResult:
    name, needed = "min_task_rate", gate.passed_trials
    rate = task_rate(count_tasks((one, 1) for one in data), needed)
    share = rate.share
    errors = (
        f"; {rate.undecided:,} undecided with too few judged trials, not counted" if rate.undecided else ""
    )
    if share.value is None:
        return RuleResult(name, is_met=False, message=f"no task was decided{errors}")
    how = "all of their trials" if needed is None else f"at least {needed} of their trials"
    ends = Interval(share.value, share.value)
    found = rate.interval(gate.confidence) if gate.confidence is not None and floor not in (0, 1) else ends
    ends = found or ends
    digits = digits_apart(floor, share.value, ends.low, ends.high)
    bound = percent(floor, digits)
    figures = f"{percent(share.value, digits)} of tasks ({share.hits:,}/{share.of:,}) passed in {how}"
    if found is None:
        return build_undecided(name, f"{figures} neither meets nor misses {bound}: {_ONE_TASK}{errors}", gate)
    if gate.confidence is not None and floor not in (0, 1):
        figures += f", {_ends(ends, gate.confidence, digits)},"
    if ends.low >= floor or ends.high < floor:
        word = "meets" if ends.low >= floor else "is under"
        return RuleResult(name, ends.low >= floor, f"{figures} {word} {bound}{errors}")
    return build_undecided(name, f"{figures} neither meets nor misses {bound}{errors}", gate)


def _must_pass(query_id: str, trials: Sequence[StoredAttempt], needed: int | None) -> RuleResult:
    name = f"must_pass[{safe_id(query_id)}]"  # part of a node id, like the row's own name
    shown = one_line(query_id, 60)
    if not trials:
        why = f"{shown} has no result in this run; `--eval-set gate={{}}` runs some rows without the gate"
        return RuleResult(name, is_met=False, message=why)
    for one in trials:
        if one.derived is not None and one.verdict is Verdict.PASSED and find_score(one) is None:
            outcome = find_outcome(one) or "not judged"
            why = f"{shown} passed, but its {one.derived.by} was {outcome}, so that shows nothing"
            return RuleResult(name, is_met=False, message=why)
    missed = [
        task for task in count_tasks((one, 1) for one in trials) if task.verdict(needed) is not Verdict.PASSED
    ]
    if not missed:
        return RuleResult(name, is_met=True, message=f"{shown} passed")
    task = missed[0]
    bad = [t for t in trials if t.variant == task.variant and t.verdict is not Verdict.PASSED]
    if bad:
        why = f"{shown} {bad[0].verdict}: {one_line(bad[0].reason)}"
    else:
        why = f"{shown} passed {task.passed} of the {needed} times needed"
    return RuleResult(name, is_met=False, message=why)


# -- ceilings


def _max_error_rate(counted: Sequence[StoredAttempt], ceiling: float, deaths: int) -> RuleResult:
    """Return whether all parts hold it: many derived rows that run hide no broken plain ones.

    A death that no trial is to blame for counts as an errored one, of a plain row if there are such trials.
    """
    parts = [("error rate", pass_rate(one for one in counted if one.derived is None).errors)]
    for by in sorted({one.derived.by for one in counted if one.derived is not None}):
        own = [one for one in counted if one.derived is not None and one.derived.by == by]
        # An attempt that failed while this could not be judged has not shown what it was made for.
        share = Share(sum(find_outcome(one) is None for one in own), len(own))
        parts.append((f"error rate under {by}", share))
    results = []
    for word, errors in parts:
        if errors.value is not None:
            value = min(1.0, (errors.hits + deaths) / errors.of)
            digits = digits_apart(ceiling, value)
            died = f" + {format_count(deaths, 'death')}" if deaths else ""
            figures = f"{word} {percent(value, digits)} ({errors.hits}{died}/{errors.of})"
            results.append(_ceiling("", value, ceiling, figures, percent(ceiling, digits)))
            deaths = 0
    is_met = bool(results) and all(one.is_met for one in results)
    message = "; ".join(one.message for one in results) or "no trial has a result"
    return RuleResult("max_error_rate", is_met, message)


def _ceiling(name: str, value: float, ceiling: float, figures: str, bound: str) -> RuleResult:
    is_met = value <= ceiling + ROUNDING
    return RuleResult(name, is_met, f"{figures} {'is within' if is_met else 'is over'} {bound}")


def _max_cost(cost: float | None, ceiling: float) -> RuleResult:
    if cost is None or math.isnan(cost):
        message = (
            "the cost is not known: a model has no price (write prices into its block), or a program reports "
            "no usage"
        )
        return RuleResult("max_cost_usd", is_met=False, message=message)
    digits = digits_apart(ceiling, cost, write=plain, least=4)
    figures = f"cost ${plain(cost, digits)}"
    return _ceiling("max_cost_usd", cost, ceiling, figures, f"${plain(ceiling, digits)}")


def _duration_s(one: StoredAttempt) -> float | None:
    took_ms = one.total_duration_ms
    return None if took_ms is None or not math.isfinite(took_ms) else took_ms / 1000


MEASURES: Mapping[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    "mean": ("mean", fmean),
    "p95": ("95th percentile", lambda values: percentile(values, 0.95)),
}
"""What a ceiling limits of a figure of all judged trials, in a word. Its key is ``max_MEASURE_FIGURE``."""


class Figure(NamedTuple):
    """A figure of a trial that has a ceiling."""

    asked: str
    unit: str
    read: Callable[[StoredAttempt], float | None]
    """None is not known."""


FIGURES: Mapping[str, Figure] = {
    "steps": Figure("how many", "steps", lambda one: one.total_steps),
    "duration_s": Figure("how long", "s", _duration_s),
}
"""By how the keys of their ceilings end."""


def _per_trial(data: Iterable[StoredAttempt], gate: GateConfig) -> Iterator[RuleResult]:
    """Yield the rules on what a judged trial takes, by its last attempt: steps and time."""
    judged = [one for one in data if one.verdict is not Verdict.ERRORED]
    for (figure, (asked, unit, read)), measure in product(FIGURES.items(), MEASURES):
        name = f"max_{measure}_{figure}"
        ceiling: float | None = getattr(gate, name, None)
        if ceiling is None:
            continue
        values = [read(one) for one in judged]
        known = [value for value in values if value is not None]
        if not values:
            yield RuleResult(name, is_met=False, message="no trial was judged")
        elif unknown := len(values) - len(known):
            count = f"{unknown:,} of {format_count(len(values), 'judged trial')}"
            yield RuleResult(name, is_met=False, message=f"{asked} {count} took is not known")
        else:
            word, of_all = MEASURES[measure]
            value = of_all(known)
            shown = plain(value, digits_apart(ceiling, value, write=plain, least=2))
            figures = f"{word} of {format_count(len(known), 'judged trial')} {shown} {unit}"
            yield _ceiling(name, value, ceiling, figures, f"{ceiling:g} {unit}")
