"""Two runs side by side: what became of each task, and what that says of the two."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from operator import attrgetter, sub
from statistics import fmean
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.features.shared.paired import MARGIN, Judgement, Method, Paired, Split, compare_pairs
from pytest_browsereval.features.shared.permutation import Cell, compute_p_value
from pytest_browsereval.features.shared.provenance import differences
from pytest_browsereval.model.display import LONGEST, format_count
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import list_judge_changes
from pytest_browsereval.runs.trial import StoredTrial
from pytest_browsereval.stats.statistics import CONFIDENCE, Interval, students_t

_PASSED, _ERRORED = Verdict.PASSED, Verdict.ERRORED
# Sums of thirds are not exact: a smaller difference is none.
_ROUNDING = 1e-9


class Change(StrEnum):
    """What became of a task, what matters most first."""

    LOST = "lost"
    """A smaller share of its judged trials passed. Where there are not as many of them on both sides, so that
    one of five that failed would be enough: more than half of them passed, and now more than half failed."""
    NEWLY_ERRORED = "newly errored"
    """It was judged in A, and in B all its trials errored."""
    ONLY_A = "only in A"
    EDITED = "row edited"
    """The row is not the one it was, so the two results are of different tasks."""
    GAINED = "gained"
    NO_LONGER_ERRORED = "no longer errored"
    ONLY_B = "only in B"
    STILL_ERRORED = "errored in both"
    UNCHANGED = "unchanged"


# Tasks that were judged on both sides: the difference of the pass rates rests on these.
COMPARED = frozenset({Change.LOST, Change.GAINED, Change.UNCHANGED})

MEASURES: Mapping[str, Callable[[StoredTrial], float | None]] = {
    "steps": lambda trial: trial.last.total_steps,
    "time": lambda trial: (took := trial.last.total_duration_ms) and took / 1000,
    "cost": lambda trial: trial.cost_usd,
}
"""What a trial takes: steps, seconds and US dollars."""


@dataclass(frozen=True, slots=True)
class Side:
    """The trials of one task by one variant in one run."""

    trials: Sequence[StoredTrial]
    judged: Sequence[StoredTrial]
    """Those that passed or failed."""
    passed: int
    """How many passed."""

    @property
    def rate(self) -> float | None:
        """Passed among judged ones; None if all errored."""
        return self.passed / len(self.judged) if self.judged else None

    @property
    def row_hashes(self) -> set[str]:
        """Of the rows that they were judged by.

        One that errored before it was judged keeps its row when others are graded again by a corrected one.
        """
        return {trial.last.row_hash for trial in self.judged or self.trials if trial.last.row_hash}

    @property
    def outcome(self) -> str:
        """The verdict, or how many there are of which."""
        if len(self.trials) == 1:
            return str(self.trials[0].verdict)
        errored = len(self.trials) - len(self.judged)
        more = f", {errored} errored" if errored else ""
        return f"{self.passed}/{len(self.judged)} passed{more}"

    @property
    def reason(self) -> str:
        """Why one did not pass: of the first that failed, else errored, else passed."""
        order = (Verdict.FAILED, Verdict.ERRORED, Verdict.PASSED)
        return min(self.trials, key=lambda trial: order.index(trial.verdict)).last.reason[:LONGEST]

    def mean(self, measure: str) -> float | None:
        """Return the mean over judged trials; None if it is not known of one, or there is none."""
        values = [MEASURES[measure](trial) for trial in self.judged]
        # A mean without the unknown ones would favour the side that hides its costs.
        known = [each for each in values if each is not None]
        return _mean(known) if known and len(known) == len(values) else None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            **{str(verdict): sum(trial.verdict is verdict for trial in self.trials) for verdict in Verdict},
            "reason": self.reason,
            "row_hash": self.trials[0].last.row_hash,
            **{name: self.mean(name) for name in MEASURES},
        }


@dataclass(frozen=True, slots=True)
class Pair:
    """A task by one variant in both runs."""

    query_id: str
    variant: str
    change: Change
    a: Side | None
    b: Side | None

    @property
    def cell(self) -> Cell | None:
        """Its judged trials; None if a side has none."""
        if self.a is None or self.b is None or not (self.a.judged and self.b.judged):
            return None
        return Cell(self.a.passed, len(self.a.judged), self.b.passed, len(self.b.judged))

    @property
    def telling(self) -> Side | None:
        """The side whose reason explains the change."""
        if self.change in (Change.GAINED, Change.NO_LONGER_ERRORED) or self.b is None:
            return self.a
        return self.b

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        head = {"query_id": self.query_id, "variant": self.variant, "change": str(self.change)}
        return {**head, "a": self.a and self.a.as_json(), "b": self.b and self.b.as_json()}


def _mean(values: Sequence[float]) -> float:
    """Return the mean: most tasks have one trial by one variant, and `fmean` takes its time."""
    return float(values[0]) if len(values) == 1 else fmean(values)


@dataclass(frozen=True)
class Comparison:
    """Some tasks in two runs."""

    pairs: Sequence[Pair]
    rate_a: PassRate
    rate_b: PassRate
    margin: float = MARGIN
    confidence: float = CONFIDENCE

    @cached_property
    def counts(self) -> Counter[Change]:
        """How many tasks came to what."""
        return Counter(pair.change for pair in self.pairs)

    @cached_property
    def compared(self) -> Sequence[Pair]:
        """Those that the difference rests on."""
        return self.of(*COMPARED)

    @cached_property
    def paired(self) -> Paired:
        """The difference of the pass rates, paired by task; variants of one task are one task."""
        # Variants of a task share its difficulty, so they are not independent.
        tasks = [(task, [cell for pair in task if (cell := pair.cell)]) for task in _group(self.compared)]
        means = [_mean([cell.difference for cell in cells]) for _, cells in tasks]
        if all(len(cells) == 1 and cells[0].judged_a == cells[0].judged_b == 1 for _, cells in tasks):
            return compare_pairs(means, self.confidence)
        # A task went the way of its mean over variants, if one of these has.
        ways: Counter[Change] = Counter()
        for mean, (task, _) in zip(means, tasks, strict=True):
            way = Change.GAINED if mean > 0 else Change.LOST
            ways[way] += abs(mean) > _ROUNDING and any(pair.change is way for pair in task)
        p_value = compute_p_value(tuple(cells) for _, cells in tasks)
        split = Split(ways[Change.GAINED], ways[Change.LOST], p_value, Method.EXCHANGE)
        return compare_pairs(means, self.confidence, split)

    @property
    def judgement(self) -> Judgement:
        """What the difference comes to."""
        return self.paired.judge(self.margin)

    @cached_property
    def measures(self) -> dict[str, dict[str, Any]]:
        """What a trial takes, over the tasks that were judged in both: means, change and its interval."""
        return {name: _measure(name, self.compared) for name in MEASURES}

    def of(self, *changes: Change) -> Sequence[Pair]:
        """Return the tasks that came to one of these, by id."""
        return [pair for pair in self.pairs if pair.change in changes]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, without the tasks."""
        one, judgement = self.paired, self.judgement
        is_open = judgement is Judgement.INCONCLUSIVE
        return {
            "verdict": str(judgement),
            "margin": self.margin,
            "confidence": one.confidence,
            "more_tasks_needed": one.more_tasks(self.margin) if is_open else None,
            "difference": one.value,
            "interval": one.interval and one.interval.as_json(),
            "p_value": one.p_value,
            "test": str(one.test),
            "tasks_compared": one.tasks,
            "counts": {str(change): self.counts[change] for change in Change},
            "pass_rate": {"a": self.rate_a.as_json(), "b": self.rate_b.as_json()},
            "measures": {
                name: {**one, "interval": one["interval"] and one["interval"].as_json()}
                for name, one in self.measures.items()
            },
        }


@dataclass(frozen=True)
class RunComparison:
    """Two runs: the whole, each variant, and what else differs between them."""

    a: StoredRun
    b: StoredRun
    whole: Comparison
    variants: Mapping[str, Comparison]
    """By name; of B where that differs. Empty where there is one only."""
    differences: Sequence[str]
    """What the two were made of that is not the same."""
    notes: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        sides = {
            name: {"run": run.name, "folder": format_path(run.folder), "selected": count_plain(run)}
            for name, run in (("a", self.a), ("b", self.b))
        }
        return {
            **sides,
            "notes": [*self.notes],
            "differences": [*self.differences],
            **self.whole.as_json(),
            "variants": {name: part.as_json() for name, part in self.variants.items()},
            "tasks": [pair.as_json() for pair in self.whole.pairs],
        }


def _group(pairs: Iterable[Pair]) -> Iterator[Sequence[Pair]]:
    """Yield pairs, which are sorted, by task."""
    return (tuple(task) for _, task in groupby(pairs, attrgetter("query_id")))


def _measure(name: str, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the means over tasks, of each over its variants, and the change with Student's t over tasks."""
    first, second = [], []
    for task in _group(pairs):
        sides = [(pair.a.mean(name), pair.b.mean(name)) for pair in task if pair.a and pair.b]
        if known := [(before, after) for before, after in sides if before is not None and after is not None]:
            first.append(_mean([before for before, _ in known]))
            second.append(_mean([after for _, after in known]))
    if not first:
        return {"a": None, "b": None, "change": None, "interval": None, "tasks": 0}
    changes = list(map(sub, second, first))
    change, count, interval = fmean(changes), len(changes), None
    if count > 1:
        squares = math.fsum((each - change) ** 2 for each in changes)
        reach = students_t(count - 1) * math.sqrt(squares / (count - 1) / count)
        interval = Interval(change - reach, change + reach)
    means = {"a": fmean(first), "b": fmean(second), "change": change}
    return {**means, "interval": interval, "tasks": count}


# -- making one


@dataclass(frozen=True)
class _Half:
    """A run that is compared, with the trials that count."""

    run: StoredRun
    trials: Sequence[StoredTrial]
    lacking: int | None
    """How many trials have no result; None if unknown."""

    @property
    def name(self) -> str:
        return format_path(self.run.folder)

    @cached_property
    def variants(self) -> Sequence[str]:
        """Their names, sorted."""
        return sorted({trial.last.variant for trial in self.trials})

    @property
    def rate(self) -> PassRate:
        selected = None if self.lacking is None else len(self.trials) + self.lacking
        return pass_rate((trial.last for trial in self.trials), selected)

    def choose(self, variant: str) -> _Half:
        """Return the same of one variant.

        Raises:
            UsageError: there is no such variant.
        """
        if variant not in self.variants:
            hint, has = nearest(variant, self.variants), ", ".join(self.variants)
            raise UsageError(f"{self.name} has no variant {variant!r}.{hint} It has: {has}.")
        own = [trial for trial in self.trials if trial.last.variant == variant]
        return _Half(self.run, own, self.lacking if len(self.variants) == 1 else None)

    def find_sides(self, names: Mapping[str, str]) -> dict[tuple[str, str], Side]:
        """Return the tasks by their ids and variants, which may have other names."""
        own: dict[tuple[str, str], list[StoredTrial]] = {}
        for trial in self.trials:
            variant = trial.last.variant
            own.setdefault((trial.last.query_id, names.get(variant, variant)), []).append(trial)
        return {
            key: Side(
                trials,
                [trial for trial in trials if trial.verdict is not _ERRORED],
                sum(trial.verdict is _PASSED for trial in trials),
            )
            for key, trials in own.items()
        }

    def describe(self) -> str:
        """Return what the run has to compare."""
        if not self.trials:
            return f"{self.name} has no result"
        return f"{self.name} has {self.trials[0].last.query_id!r} of {', '.join(self.variants)}"


def _take(run: StoredRun, left_out: Collection[str]) -> _Half:
    selected, plain = count_plain(run), run.summary.plain
    lacking = None if selected is None else max(0, selected - len(plain))
    return _Half(run, [one for one in plain if one.last.query_id not in left_out], lacking)


def count_plain(run: StoredRun) -> int | None:
    """Return how many trials of rows that are not derived a run was to have; None if unknown."""
    selected, summary = run.count_selected(), run.summary
    return None if selected is None else selected - (len(summary.trials) - len(summary.plain))


def compare(
    a: StoredRun,
    b: StoredRun,
    *,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    variants: tuple[str, str] | None = None,
    left_out: Collection[str] = (),
) -> RunComparison:
    """Compare two runs task by task.

    Args:
        a: the baseline.
        b: the other one.
        margin: how much worse B may be and still count as not worse.
        confidence: of the difference's interval, and of what is said of it.
        variants: one of A and one of B that are compared with each other, and no others.
        left_out: ids of tasks that do not count.

    Raises:
        UsageError: the runs have no task in common, or no such variant.
    """
    first, second = _take(a, left_out), _take(b, left_out)
    notes = [*_list_notes("A", first), *_list_notes("B", second)]
    if variants is not None:
        first, second = first.choose(variants[0]), second.choose(variants[1])
    names: dict[str, str] = {}
    if len(first.variants) == len(second.variants) == 1 and first.variants != second.variants:
        names = {second.variants[0]: first.variants[0]}
        notes.append(f"variant {first.variants[0]} of A is compared with variant {second.variants[0]} of B")
    left, right = first.find_sides({}), second.find_sides(names)
    pairs = [
        Pair(*key, _find_change(own, other), own, other)
        for key in sorted(left.keys() | right.keys())
        for own, other in ((left.get(key), right.get(key)),)
    ]
    # Better no comparison than one of nothing: a wrong path would look like "no regressions".
    if not any(pair.a and pair.b for pair in pairs):
        raise UsageError(
            f"the runs have no task in common: {first.describe()}; {second.describe()}. Give two runs over "
            "the same rows; for variants with different names, add --variants A=B."
        )
    labels = sorted({pair.variant for pair in pairs})
    parts = {
        label: _make_part([one for one in pairs if one.variant == label], margin, confidence)
        for label in (labels if len(labels) > 1 else ())
    }
    whole = Comparison(pairs, first.rate, second.rate, margin, confidence)
    uneven = sum(cell is not None and not cell.is_even for cell in (pair.cell for pair in whole.compared))
    if uneven:
        notes.append(
            f"different numbers of judged trials in A and B: {format_count(uneven, 'task')}, each lost or "
            "gained only if most of its trials passed in one and most failed in the other"
        )
    judges = list_judge_changes(a.summary, b.summary)
    found = (*differences(a.read_manifest(), b.read_manifest()).values(), *judges)
    return RunComparison(a, b, whole, parts, found, notes)


def _find_change(a: Side | None, b: Side | None) -> Change:
    if a is None or b is None:
        return Change.ONLY_B if a is None else Change.ONLY_A
    hashes = [side.row_hashes for side in (a, b)]
    if all(hashes) and hashes[0] != hashes[1]:
        return Change.EDITED
    before, after = a.rate, b.rate
    if before is None or after is None:
        if before is after:
            return Change.STILL_ERRORED
        return Change.NO_LONGER_ERRORED if before is None else Change.NEWLY_ERRORED
    # With other numbers of trials, one trial more or less changes a share: only a change of the majority
    # counts.
    is_other = before != after if len(a.judged) == len(b.judged) else (before - 0.5) * (after - 0.5) < 0
    if not is_other:
        return Change.UNCHANGED
    return Change.GAINED if after > before else Change.LOST


def _make_part(pairs: Sequence[Pair], margin: float, confidence: float) -> Comparison:
    a, b = (
        pass_rate(trial.last for side in sides if side is not None for trial in side.trials)
        for sides in ([pair.a for pair in pairs], [pair.b for pair in pairs])
    )
    return Comparison(pairs, a, b, margin, confidence)


def _list_notes(label: str, half: _Half) -> Iterator[str]:
    trials, plain = half.run.summary.trials, half.run.summary.plain
    if half.lacking is None:
        yield f"{label} was ended before its summary was written: how many trials it lacks is unknown"
    elif half.lacking:
        yield f"{label} lacks {half.lacking} of its {format_count(half.lacking + len(plain), 'trial')}"
    if attacked := len(trials) - len(plain):
        count = format_count(attacked, "trial")
        yield f"not compared, since under attack: {count} of {label}; see browsereval attacks"
