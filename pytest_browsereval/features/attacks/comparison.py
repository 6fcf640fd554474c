"""Two agents under the same attacks, or one with and without a guard: paired by row, attack and trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.features.attacks.figures import RunFigures, find_figures
from pytest_browsereval.features.attacks.outcome import AttackOutcome, find_outcome
from pytest_browsereval.features.shared.paired import compare_pairs
from pytest_browsereval.features.shared.permutation import Cell, compute_p_value
from pytest_browsereval.model.derived import base_of
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun


class Side:
    """One of the two.

    Args:
        run: the run.
        variant: the only one that counts; None for all.

    Raises:
        UsageError: there is no such variant, or there was no attack.
    """

    def __init__(self, run: StoredRun, variant: str | None) -> None:
        names = sorted({one.last.variant for one in run.summary.trials})
        if variant is not None and variant not in names:
            hint, has = nearest(variant, names), ", ".join(names)
            raise UsageError(f"{run.name} has no variant {variant!r}.{hint} It has: {has}.")
        found = find_figures(one for one in run.summary.trials if variant in (None, one.last.variant))
        self.label = run.name if variant is None else f"{variant} of {run.name}"
        """What reports call it."""
        if found is None:
            why = "Run with `attacks` in the config; trials without a result do not count."
            raise UsageError(f"{self.label} has no attempt under attack. {why}")
        self.figures: RunFigures = found
        self.has_variants = variant is None and len(names) > 1

    def key_attempts(self, *, with_variant: bool) -> dict[Hashable, StoredAttempt]:
        """Return the attempts by what they are paired by: row and attack as they were then, the trial."""
        attempts = (*self.figures.plain, *self.figures.attacked)
        return {
            (
                *(base_of(one), one.row_hash, one.trial, one.variant if with_variant else ""),
                *(() if one.derived is None else (one.derived.name, one.derived.revision)),
            ): one
            for one in attempts
        }


def compare_sides(first: Side, second: Side) -> dict[str, Any]:
    """Return as plain values what differs between two sides: ``differences`` by the names of rates.

    Attempts at rows that were edited, or under attacks that were, are in no pair.

    Raises:
        UsageError: they have no attempt in common.
    """
    a, b = (side.key_attempts(with_variant=first.has_variants) for side in (first, second))
    rates = {"attack_success": _is_compromised, "utility_under_attack": _is_useful, "utility": _is_passed}
    differences = {name: _measure(a, b, value) for name, value in rates.items()}
    if not differences["attack_success"]["pairs"]:
        why = "have no pair of attempts at the same row in which the same attack was delivered"
        how = "Compare runs whose rows and `attacks` are the same."
        raise UsageError(f"{first.label} and {second.label} {why}. {how}")
    named = [{"name": side.label, **side.figures.as_json()} for side in (first, second)]
    return {"first": named[0], "second": named[1], "differences": differences}


def _measure(
    first: Mapping[Hashable, StoredAttempt],
    second: Mapping[Hashable, StoredAttempt],
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
    rows: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for key in before.keys() & after.keys():
        rows[base_of(first[key])].append((before[key], after[key]))
    cells = [
        Cell(sum(was for was, _ in pairs), len(pairs), sum(now for _, now in pairs), len(pairs))
        for pairs in rows.values()
    ]
    paired, count = compare_pairs(cell.difference for cell in cells), sum(map(len, rows.values()))
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
