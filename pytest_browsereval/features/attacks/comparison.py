"""Two agents under the same attacks, or one with and without a guard: paired by row, attack and trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.features.attacks.figures import RunFigures, find_figures
from pytest_browsereval.features.attacks.outcome import AttackOutcome, find_outcome, name_of
from pytest_browsereval.features.shared.paired import compare_pairs
from pytest_browsereval.features.shared.permutation import Cell, compute_p_value
from pytest_browsereval.model.derived import base_of
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.trial import StoredTrial

_Key = tuple[str, str | None, str, int]
"""Base row, attack, variant where it matters, trial."""


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

    @cached_property
    def trials(self) -> tuple[StoredTrial, ...]:
        """Those that count.

        Raises:
            UsageError: there is no such variant.
        """
        names = sorted({one.last.variant for one in self.summary.trials})
        if self.variant is not None and self.variant not in names:
            hint = nearest(self.variant, names)
            has = ", ".join(names)
            raise UsageError(f"{self.folder} has no variant {self.variant!r}.{hint} It has: {has}.")
        return tuple(one for one in self.summary.trials if self.variant in (None, one.last.variant))

    @cached_property
    def figures(self) -> RunFigures:
        """What happened.

        Raises:
            UsageError: there was no attack.
        """
        found = find_figures(RunSummary(self.trials))
        if found is None:
            raise UsageError(f"{self.label} has no attempt under attack, so there is nothing to compare.")
        return found


def compare_sides(first: Side, second: Side) -> dict[str, Any]:
    """Return as plain values what differs between two sides: ``differences`` by the names of rates.

    ``edited_rows`` are not what they were, and in no pair: the two results are of different tasks.

    Raises:
        UsageError: they were not under the same attacks, have no attempt in common, or no such variant.
    """
    _check_attacks(first, second)
    with_variant = len({one.last.variant for one in first.trials}) > 1
    a, b = (_key_attempts(side, with_variant=with_variant) for side in (first, second))
    hashes = ((key[0], a[key].row_hash, b[key].row_hash) for key in a.keys() & b.keys())
    edited = sorted({row for row, before, after in hashes if before and after and before != after})
    a, b = ({key: one for key, one in side.items() if key[0] not in edited} for side in (a, b))
    rates = {"attack_success": _is_compromised, "utility_under_attack": _is_useful, "utility": _is_passed}
    differences = {name: _measure(a, b, value) for name, value in rates.items()}
    if not differences["attack_success"]["pairs"]:
        left_out = f" Rows that were edited are left out: {join_first(edited, 5)}." if edited else ""
        why = "have no pair of attempts in which an attack was delivered"
        raise UsageError(f"{first.label} and {second.label} {why}.{left_out}")
    sides = {"first": first, "second": second}
    named = {place: {"name": side.label, **side.figures.as_json()} for place, side in sides.items()}
    return {**named, "differences": differences, "edited_rows": edited}


def _key_attempts(side: Side, *, with_variant: bool) -> dict[_Key, StoredAttempt]:
    last = [trial.last for trial in side.trials]
    return {(base_of(o), name_of(o), o.variant if with_variant else "", o.trial): o for o in last}


def _check_attacks(first: Side, second: Side) -> None:
    """Check that both sides were under the same attacks.

    Raises:
        UsageError: with the attacks that differ.
    """
    sides = (first, second)
    before, after = ({name: one.revision for name, one in side.figures.facts.items()} for side in sides)
    differ = dict(sorted(before.items() ^ after.items()))
    if first.folder == second.folder or not differ:
        return
    both = before.keys() & after.keys()
    how = [f"{name} is {'another one' if name in both else 'in one of them only'}" for name in differ]
    raise UsageError(
        f"{first.label} and {second.label} were not under the same attacks: "
        f"{join_first(how, 5, '; ')}. Compare runs whose `attacks` are the same."
    )


def _measure(
    first: Mapping[_Key, StoredAttempt],
    second: Mapping[_Key, StoredAttempt],
    value: Callable[[StoredAttempt], bool | None],
) -> dict[str, Any]:
    """Return a rate on both sides, over the pairs, and the difference, second less first, over rows.

    Attempts for which ``value`` returns None do not count; those that count on one side only are
    ``unpaired``.
    """
    before, after = (
        {key: found for key, one in side.items() if (found := value(one)) is not None}
        for side in (first, second)
    )
    shared = before.keys() & after.keys()
    rows: dict[str, list[_Key]] = defaultdict(list)
    for key in sorted(shared, key=str):
        rows[key[0]].append(key)
    cells = [
        Cell(sum(before[key] for key in keys), len(keys), sum(after[key] for key in keys), len(keys))
        for keys in rows.values()
    ]
    paired, count = compare_pairs(cell.difference for cell in cells), len(shared)
    return {
        "first": sum(cell.passed_a for cell in cells) / count if count else None,
        "second": sum(cell.passed_b for cell in cells) / count if count else None,
        "pairs": count,
        "unpaired": len(before) + len(after) - 2 * count,
        "rows": paired.tasks,
        "difference": paired.value,
        "interval": paired.interval and paired.interval.as_json(),
        "p_value": compute_p_value((cell,) for cell in cells),
    }


def _is_compromised(one: StoredAttempt) -> bool | None:
    outcome = find_outcome(one)
    is_delivered = outcome in (AttackOutcome.COMPROMISED, AttackOutcome.RESISTED)
    return outcome is AttackOutcome.COMPROMISED if is_delivered else None


def _is_useful(one: StoredAttempt) -> bool | None:
    return None if _is_compromised(one) is None else one.verdict is Verdict.PASSED


def _is_passed(one: StoredAttempt) -> bool | None:
    is_judged = one.derived is None and one.verdict is not Verdict.ERRORED
    return one.verdict is Verdict.PASSED if is_judged else None
