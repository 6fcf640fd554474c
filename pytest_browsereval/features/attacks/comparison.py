"""Two agents under the same attacks, or one with and without a guard: paired by row, attack and trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.features.attacks.figures import RunFigures, find_figures
from pytest_browsereval.features.attacks.outcome import AttackOutcome, find_outcome, name_of
from pytest_browsereval.model.derived import base_of
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.trial import StoredTrial
from pytest_browsereval.stats.paired import Method, Paired, Split, compare_pairs
from pytest_browsereval.stats.permutation import Cell, compute_p_value


@dataclass(frozen=True)
class Side:
    """One of the two."""

    folder: Path
    """Of the run."""
    summary: RunSummary
    variant: str | None = None
    """The only one that counts; None for all."""

    @property
    def label(self) -> str:
        """What reports call it."""
        run = self.folder.resolve().name
        return run if self.variant is None else f"{self.variant} of {run}"

    @property
    def trials(self) -> tuple[StoredTrial, ...]:
        """Those that count."""
        all_of = self.summary.trials
        return tuple(one for one in all_of if self.variant in (None, one.last.variant))

    @property
    def figures(self) -> RunFigures:
        """What happened."""
        found = find_figures(RunSummary(self.trials))
        if found is None:
            raise UsageError(f"{self.label} has no attempt under attack, so there is nothing to compare.")
        return found


@dataclass(frozen=True)
class Measured:
    """A rate on both sides."""

    name: str
    first: float | None
    """Over the pairs."""
    second: float | None
    pairs: int
    unpaired: int
    """Attempts that count on one side only."""
    paired: Paired
    """The difference, second less first, over rows."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        ends = self.paired.interval
        return {
            "first": self.first,
            "second": self.second,
            "pairs": self.pairs,
            "unpaired": self.unpaired,
            "rows": self.paired.tasks,
            "difference": self.paired.value,
            "interval": ends and ends.as_json(),
            "p_value": self.paired.p_value,
            "test": str(self.paired.test),
        }


@dataclass(frozen=True)
class AttackComparison:
    """Two sides under the same attacks."""

    first: Side
    second: Side
    measures: tuple[Measured, ...]
    """Attack success, utility under attack, utility."""
    edited: tuple[str, ...] = ()
    """Rows that are not what they were, which are in no pair: the two results are of different tasks."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "first": {"name": self.first.label, **self.first.figures.as_json()},
            "second": {"name": self.second.label, **self.second.figures.as_json()},
            "differences": {one.name: one.as_json() for one in self.measures},
            "edited_rows": list(self.edited),
        }


_Key = tuple[str, str | None, str, int]
"""Base row, attack, variant where it matters, trial."""


def compare_sides(first: Side, second: Side) -> AttackComparison:
    """Compare two sides.

    Raises:
        UsageError: they were not under the same attacks, have no attempt in common, or no such variant.
    """
    for side in (first, second):
        names = sorted({one.last.variant for one in side.summary.trials})
        if side.variant is not None and side.variant not in names:
            hint = nearest(side.variant, names)
            raise UsageError(
                f"{side.folder} has no variant {side.variant!r}.{hint} It has: {', '.join(names)}."
            )
    check_attacks(first, second)
    with_variant = first.variant is None and len({one.last.variant for one in first.trials}) > 1
    a, b = (_index(side.trials, with_variant=with_variant) for side in (first, second))
    edited = _list_edited(a, b)
    a, b = ({key: one for key, one in side.items() if key[0] not in edited} for side in (a, b))
    measures = (
        _measure("attack_success", a, b, _is_compromised),
        _measure("utility_under_attack", a, b, _is_useful),
        _measure("utility", a, b, _is_passed),
    )
    if not measures[0].pairs:
        left_out = f" Rows that were edited are left out: {join_first(edited, 5)}." if edited else ""
        raise UsageError(
            f"{first.label} and {second.label} have no pair of attempts in which an attack was delivered."
            f"{left_out}"
        )
    return AttackComparison(first, second, measures, edited)


def check_attacks(first: Side, second: Side) -> None:
    """Check that both sides were under the same attacks.

    Raises:
        UsageError: with the attacks that differ.
    """
    if first.folder == second.folder:
        return
    before, after = (
        {name: one.revision for name, one in side.figures.facts.items()} for side in (first, second)
    )
    both, every = before.keys() & after.keys(), sorted(before.keys() | after.keys())
    differ = [name for name in every if before.get(name) != after.get(name)]
    if differ:
        how = [f"{name} is {'another one' if name in both else 'in one of them only'}" for name in differ]
        raise UsageError(
            f"{first.label} and {second.label} were not under the same attacks: "
            f"{join_first(how, 5, '; ')}. Compare runs whose `attacks` are the same."
        )


def _index(trials: Iterable[StoredTrial], *, with_variant: bool) -> dict[_Key, StoredAttempt]:
    data = (one.last for one in trials)
    return {(base_of(one), name_of(one), one.variant if with_variant else "", one.trial): one for one in data}


def _list_edited(
    first: Mapping[_Key, StoredAttempt], second: Mapping[_Key, StoredAttempt]
) -> tuple[str, ...]:
    """Return the rows that are not the same on the two sides, by their hashes."""
    hashes = ((key[0], first[key].row_hash, second[key].row_hash) for key in first.keys() & second.keys())
    return tuple(sorted({row for row, before, after in hashes if before and after and before != after}))


def _measure(
    name: str,
    first: Mapping[_Key, StoredAttempt],
    second: Mapping[_Key, StoredAttempt],
    value: Callable[[StoredAttempt], bool | None],
) -> Measured:
    """Return a rate on both sides; attempts for which ``value`` returns None do not count."""
    before, after = (
        {key: found for key, one in side.items() if (found := value(one)) is not None}
        for side in (first, second)
    )
    cells: dict[str, dict[tuple[str | None, str], list[tuple[bool, bool]]]] = {}
    shared = before.keys() & after.keys()
    for key in sorted(shared, key=str):
        row, attack, variant, _ = key
        cells.setdefault(row, {}).setdefault((attack, variant), []).append((before[key], after[key]))
    tasks = [tuple(_cell(pairs) for pairs in of_row.values()) for of_row in cells.values()]
    means = [fmean(cell.difference for cell in task) for task in tasks]
    is_single = all(len(task) == 1 and task[0].judged_a == 1 for task in tasks)
    gained, lost = (sum(sign * mean > 0 for mean in means) for sign in (1, -1))
    split = None if is_single else Split(gained, lost, compute_p_value(tasks), Method.EXCHANGE)
    count = len(shared)
    return Measured(
        name,
        sum(before[key] for key in shared) / count if count else None,
        sum(after[key] for key in shared) / count if count else None,
        count,
        len(before) + len(after) - 2 * count,
        compare_pairs(means, split=split),
    )


def _cell(pairs: list[tuple[bool, bool]]) -> Cell:
    hits_a, hits_b = (sum(pair[place] for pair in pairs) for place in (0, 1))
    return Cell(hits_a, len(pairs), hits_b, len(pairs))


def _is_compromised(one: StoredAttempt) -> bool | None:
    outcome = find_outcome(one)
    is_delivered = outcome in (AttackOutcome.COMPROMISED, AttackOutcome.RESISTED)
    return outcome is AttackOutcome.COMPROMISED if is_delivered else None


def _is_useful(one: StoredAttempt) -> bool | None:
    return None if _is_compromised(one) is None else one.verdict is Verdict.PASSED


def _is_passed(one: StoredAttempt) -> bool | None:
    is_judged = one.derived is None and one.verdict is not Verdict.ERRORED
    return one.verdict is Verdict.PASSED if is_judged else None
