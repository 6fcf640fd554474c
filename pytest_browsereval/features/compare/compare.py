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


@dataclass(frozen=True, slots=True)
class Side:
    """The trials of one task by one variant in one run."""

    trials: tuple[StoredTrial, ...]
    judged: tuple[StoredTrial, ...]
    """Those that passed or failed."""
    passed: int
    """How many passed."""

    @property
    def first(self) -> StoredTrial:
        """The first trial."""
        return self.trials[0]

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
            return str(self.first.verdict)
        errored = len(self.trials) - len(self.judged)
        more = f", {errored} errored" if errored else ""
        return f"{self.passed}/{len(self.judged)} passed{more}"

    @property
    def reason(self) -> str:
        """Why one did not pass: of the first that failed, else errored, else passed."""
        order = (Verdict.FAILED, Verdict.ERRORED, Verdict.PASSED)
        return min(self.trials, key=lambda trial: order.index(trial.verdict)).last.reason[:LONGEST]

    def mean(self, value: Callable[[StoredTrial], float | None]) -> float | None:
        """Return the mean over judged trials; None if it is not known of one, or there is none."""
        values = [value(trial) for trial in self.judged]
        # A mean without the unknown ones would favour the side that hides its costs.
        known = [each for each in values if each is not None]
        return _mean(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, slots=True)
class Pair:
    """A task by one variant in both runs."""

    query_id: str
    variant: str
    change: Change
    a: Side | None
    b: Side | None

    def difference(self, value: Callable[[Side], float | None]) -> float | None:
        """Return B's value less A's; None if one of them is not known."""
        before, after = (None if side is None else value(side) for side in (self.a, self.b))
        return None if before is None or after is None else after - before

    @property
    def cell(self) -> Cell | None:
        """Its judged trials; None if a side has none."""
        a, b = self.a, self.b
        if a is None or b is None:
            return None
        if not (a.judged and b.judged):
            return None
        return Cell(a.passed, len(a.judged), b.passed, len(b.judged))


@dataclass(frozen=True)
class Measure:
    """What a trial takes, over the tasks that were judged in both runs."""

    name: str
    unit: str
    a: float | None
    """The mean over tasks, of each over its variants; None where it is known of none."""
    b: float | None
    change: float | None
    interval: Interval | None
    """Of the change, by Student's t over tasks; None for fewer than two."""
    tasks: int


def _mean(values: Sequence[float]) -> float:
    """Return the mean: most tasks have one trial by one variant, and `fmean` takes its time."""
    return float(values[0]) if len(values) == 1 else fmean(values)


MEASURES: Mapping[str, tuple[str, Callable[[StoredTrial], float | None]]] = {
    "steps": ("", lambda trial: trial.last.total_steps),
    "time": ("s", lambda trial: (took := trial.last.total_duration_ms) and took / 1000),
    "cost": ("usd", lambda trial: trial.cost_usd),
}


@dataclass(frozen=True)
class Comparison:
    """Some tasks in two runs."""

    pairs: tuple[Pair, ...]
    rate_a: PassRate
    rate_b: PassRate
    margin: float = MARGIN
    confidence: float = CONFIDENCE

    @cached_property
    def counts(self) -> Counter[Change]:
        """How many tasks came to what."""
        return Counter(pair.change for pair in self.pairs)

    @cached_property
    def compared(self) -> tuple[Pair, ...]:
        """Those that the difference rests on."""
        return tuple(pair for pair in self.pairs if pair.change in COMPARED)

    @cached_property
    def paired(self) -> Paired:
        """The difference of the pass rates, paired by task; variants of one task are one task."""
        # Variants of a task share its difficulty, so they are not independent.
        means = (_mean([cell.difference for cell in _list_cells(task)]) for task in _group(self.compared))
        return compare_pairs(means, self.confidence, _split(self.compared))

    @property
    def judgement(self) -> Judgement:
        """What the difference comes to."""
        return self.paired.judge(self.margin)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Steps, time and money."""
        return tuple(_measure(name, self.compared) for name in MEASURES)

    def of(self, *changes: Change) -> tuple[Pair, ...]:
        """Return the tasks that came to one of these, by id."""
        return tuple(pair for pair in self.pairs if pair.change in changes)


@dataclass(frozen=True)
class RunComparison:
    """Two runs: the whole, each variant, and what else differs between them."""

    a: StoredRun
    b: StoredRun
    whole: Comparison
    variants: Mapping[str, Comparison]
    """By name; of B where that differs. Empty where there is one only."""
    differences: tuple[str, ...]
    """What the two were made of that is not the same."""
    notes: tuple[str, ...]
    trials: tuple[Sequence[StoredTrial], Sequence[StoredTrial]]
    """Those of A and of B that are compared."""

    def list_costs(self) -> list[list[float | None]]:
        """Return what the trials that are compared cost in A and in B; None is a cost that is not known."""
        return [[trial.cost_usd for trial in trials] for trials in self.trials]


def _group(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, ...]]:
    """Yield pairs, which are sorted, by task."""
    return (tuple(task) for _, task in groupby(pairs, attrgetter("query_id")))


def _list_cells(task: Iterable[Pair]) -> tuple[Cell, ...]:
    return tuple(cell for pair in task if (cell := pair.cell))


def _split(pairs: Sequence[Pair]) -> Split | None:
    """Return the test of tasks with several trials; None where each has one on each side, as McNemar needs.

    A task went the way of its mean over variants, if one of these has.
    """
    cells = list(map(_list_cells, _group(pairs)))
    if all(len(task) == 1 and task[0].judged_a == task[0].judged_b == 1 for task in cells):
        return None
    ways: Counter[Change] = Counter()
    for own, task in zip(_group(pairs), cells, strict=True):
        mean = fmean(cell.difference for cell in task)
        way = Change.GAINED if mean > 0 else Change.LOST
        ways[way] += abs(mean) > _ROUNDING and any(pair.change is way for pair in own)
    return Split(ways[Change.GAINED], ways[Change.LOST], compute_p_value(cells), Method.EXCHANGE)


def _measure(name: str, pairs: Sequence[Pair]) -> Measure:
    unit, of_trial = MEASURES[name]

    first, second = [], []
    for task in _group(pairs):
        sides = [(pair.a.mean(of_trial), pair.b.mean(of_trial)) for pair in task if pair.a and pair.b]
        if known := [(before, after) for before, after in sides if before is not None and after is not None]:
            first.append(_mean([before for before, _ in known]))
            second.append(_mean([after for _, after in known]))
    if not first:
        return Measure(name, unit, None, None, None, None, 0)
    a, b = fmean(first), fmean(second)
    changes = list(map(sub, second, first))
    change = fmean(changes)
    interval = None
    if (count := len(changes)) > 1:
        squares = math.fsum((each - change) ** 2 for each in changes)
        reach = students_t(count - 1) * math.sqrt(squares / (count - 1) / count)
        interval = Interval(change - reach, change + reach)
    return Measure(name, unit, a, b, change, interval, count)


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
    def variants(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted({trial.last.variant for trial in self.trials}))

    @property
    def rate(self) -> PassRate:
        selected = None if self.lacking is None else len(self.trials) + self.lacking
        return pass_rate((trial.last for trial in self.trials), selected)

    def choose(self, variant: str) -> _Half:
        """Return the same of one variant; what others lack is then unknown."""
        own = [trial for trial in self.trials if trial.last.variant == variant]
        return _Half(self.run, own, self.lacking if self.variants == (variant,) else None)


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
    names = _names(first, second, variants)
    notes = list(_notes(first, second, names))
    if variants is not None:
        first, second = first.choose(variants[0]), second.choose(variants[1])
    left, right = _find_sides(first, {}), _find_sides(second, names)
    pairs = tuple(
        Pair(*key, _change(own, other), own, other)
        for key in sorted(left.keys() | right.keys())
        for own, other in ((left.get(key), right.get(key)),)
    )
    # Better no comparison than one of nothing: a wrong path would look like "no regressions".
    if not any(pair.a and pair.b for pair in pairs):
        in_a, in_b = ({pair.query_id for pair in pairs if has(pair)} for has in map(attrgetter, "ab"))
        raise UsageError(_nothing(first, second, in_a & in_b))
    shown = {theirs: ours for ours, theirs in names.items()}
    labels = sorted({pair.variant for pair in pairs})
    several = labels if len(labels) > 1 else []
    parts = {
        shown.get(label, label): _part([p for p in pairs if p.variant == label], margin, confidence)
        for label in several
    }
    whole = Comparison(pairs, first.rate, second.rate, margin, confidence)
    judges = list_judge_changes(a.summary, b.summary)
    found = (*differences(a.read_manifest(), b.read_manifest()).values(), *judges)
    notes += _uneven(whole.compared)
    return RunComparison(a, b, whole, parts, found, tuple(notes), (first.trials, second.trials))


def _names(a: _Half, b: _Half, given: tuple[str, str] | None) -> dict[str, str]:
    """Return the variants of A by the names of those of B that they are compared with."""
    if given is not None:
        for half, name in zip((a, b), given, strict=True):
            if name not in half.variants:
                hint = nearest(name, half.variants)
                raise UsageError(
                    f"{half.name} has no variant {name!r}.{hint} It has: {', '.join(half.variants)}."
                )
        return {given[1]: given[0]}
    if len(a.variants) == len(b.variants) == 1:
        return {b.variants[0]: a.variants[0]}
    return {name: name for name in b.variants if name in a.variants}


def _find_sides(half: _Half, names: Mapping[str, str]) -> dict[tuple[str, str], Side]:
    """Return the tasks of a run by their ids and variants."""
    own: dict[tuple[str, str], list[StoredTrial]] = {}
    for trial in half.trials:
        variant = trial.last.variant
        own.setdefault((trial.last.query_id, names.get(variant, variant)), []).append(trial)
    return {key: _make_side(tuple(trials)) for key, trials in own.items()}


def _make_side(trials: tuple[StoredTrial, ...]) -> Side:
    verdicts = [trial.verdict for trial in trials]
    judged = tuple(t for t, verdict in zip(trials, verdicts, strict=True) if verdict is not _ERRORED)
    return Side(trials, judged, verdicts.count(_PASSED))


def _change(a: Side | None, b: Side | None) -> Change:
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


def _part(pairs: Sequence[Pair], margin: float, confidence: float) -> Comparison:
    a, b = (
        pass_rate(trial.last for side in sides if side is not None for trial in side.trials)
        for sides in ([pair.a for pair in pairs], [pair.b for pair in pairs])
    )
    return Comparison(tuple(pairs), a, b, margin, confidence)


def _nothing(a: _Half, b: _Half, tasks: set[str]) -> str:
    if tasks:
        return (
            f"the runs have tasks in common, but no variant: {', '.join(a.variants)} in A, "
            f"{', '.join(b.variants)} in B. Name two with --variants A=B."
        )
    first, second = (repr(half.trials[0].last.query_id) if half.trials else "no result" for half in (a, b))
    return (
        f"{a.name} and {b.name} have no task in common: one has {first}, the other {second}. Give two runs "
        "over the same rows."
    )


def _notes(a: _Half, b: _Half, names: Mapping[str, str]) -> Iterator[str]:
    for theirs, ours in names.items():
        if theirs != ours:
            yield f"variant {ours} of A is compared with variant {theirs} of B"
    for half, label in ((a, "A"), (b, "B")):
        trials, plain = half.run.summary.trials, half.run.summary.plain
        if half.lacking is None:
            yield f"{label} was ended before its summary was written: how many trials it lacks is unknown"
        elif half.lacking:
            many = format_count(half.lacking + len(plain), "trial")
            yield f"{label} lacks {half.lacking} of its {many}"
        if attacked := len(trials) - len(plain):
            count = f"{attacked:,} of the {format_count(len(trials), 'trial')} of {label}"
            verb = "is" if attacked == 1 else "are"
            yield f"{count} {verb} under attack, and not compared here: see browsereval attacks"


def _uneven(pairs: Sequence[Pair]) -> Iterator[str]:
    count = sum(cell is not None and not cell.is_even for cell in (pair.cell for pair in pairs))
    if count:
        have = "task has" if count == 1 else "tasks have"
        yield (
            f"{count:,} {have} not as many judged trials in A as in B, and is lost or gained only if most of "
            "its trials passed in one and most failed in the other"
        )
