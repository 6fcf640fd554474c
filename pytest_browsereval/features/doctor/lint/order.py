"""Rules that find rows whose verdict goes with the time, or with what ran before them.

A rule speaks only where it parts passed and failed attempts without an exception, and where chance does so in
at most one of a hundred rows: of all ways to choose which of the attempts passed, each as likely as another,
few are parted (Fisher's exact test, times the number of partings that the rule has tried).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import comb
from pathlib import Path

from pytest_browsereval.features.doctor.lint.base import Finding, Row
from pytest_browsereval.features.doctor.lint.stored import EarlierAttempt
from pytest_browsereval.model.display import join_first

MOST_LIKELY = 0.01
"""How likely chance may make what a rule reports, for a row."""

Ended = Mapping[Path, Sequence[tuple[str, str]]]
"""When attempts of a run ended, and of which rows, the first one in front."""


def find_dependence(row: Row, made: Sequence[EarlierAttempt], ended: Ended) -> Iterator[Finding]:
    """Yield what the verdicts of a row by one setting go with; the first that explains them is enough.

    Args:
        row: the row.
        made: its judged attempts by one setting.
        ended: of all runs.
    """
    passed = [one for one in made if one.passed]
    ways = comb(len(made), len(passed))
    if 2 / ways > MOST_LIKELY:  # also if all have passed, or none
        return
    for rule in (_find_change, _find_trials, _find_rows_before):
        if found := rule(row, sorted(made, key=lambda one: one.metadata.started_at), ended, ways):
            yield found
            return


def _find_change(row: Row, made: Sequence[EarlierAttempt], ended: Ended, ways: int) -> Finding | None:
    """Return since when it has another verdict."""
    del ended, ways  # two ways to part them: the earlier ones passed, or the later ones
    turns = [place for place, (one, other) in enumerate(pairwise(made), 1) if one.passed != other.passed]
    if len(turns) != 1 or len({one.run for one in made}) == 1:
        return None
    before, after = made[: turns[0]], made[turns[0] :]
    day = f"{before[-1].metadata.started_at[:16]} and {after[0].metadata.started_at[:16]} (UTC)"
    if before[0].passed:
        message = (
            f"it passed in all {len(before)} attempts, and in none of {len(after)} after that: between {day}."
        )
        advice = (
            "Look what changed then: the site, its data, a date in the row, or the model behind the name."
        )
        return row.warning("time-dependent", message, advice)
    message = (
        f"it failed in all {len(before)} attempts, and in none of {len(after)} after that: between {day}."
    )
    return row.note("time-dependent", message, "Compare runs of one side only.")


def _find_trials(row: Row, made: Sequence[EarlierAttempt], ended: Ended, ways: int) -> Finding | None:
    """Return whether the first trial of each run has another verdict than the later ones."""
    del ended, ways
    count = _split(made, [one.metadata.trial == 1 for one in made])
    if count is None:
        return None
    verdict, other = ("passed", "failed") if count > 0 else ("failed", "passed")
    message = (
        f"each first trial {verdict} ({abs(count)}), and each later one {other} ({len(made) - abs(count)})."
    )
    advice = "A trial leaves something behind: reset the site before each one, or use fresh data."
    return row.warning("order-dependent", message, advice)


def _find_rows_before(row: Row, made: Sequence[EarlierAttempt], ended: Ended, ways: int) -> Finding | None:
    """Return after which other rows its verdict is another one."""
    before = {id(one): _list_before(one, ended) for one in made}
    always = set.intersection(*before.values())
    names = set[str]().union(*before.values()) - always
    if not names or 2 * len(names) / ways > MOST_LIKELY:
        return None
    found = {name: _split(made, [name in before[id(one)] for one in made]) for name in sorted(names)}
    parting = {name: count for name, count in found.items() if count is not None}
    if not parting:
        return None
    count = next(iter(parting.values()))
    same = [name for name, other in parting.items() if other == count]
    verdict, other = ("passed", "failed") if count > 0 else ("failed", "passed")
    message = (
        f"it {verdict} in all {abs(count)} attempts that came after {join_first(same, 3)} in the same run, "
        f"and {other} in all {len(made) - abs(count)} others."
    )
    advice = "Name what it needs (depends_on), or reset what the other row leaves behind (requires_reset)."
    return row.warning("order-dependent", message, advice)


def _list_before(attempt: EarlierAttempt, ended: Ended) -> set[str]:
    """Return the other rows of which an attempt had ended in the same run when this one began."""
    data = attempt.metadata
    own = ended.get(attempt.run, ())
    return {name for when, name in own if when <= data.started_at} - {data.query_id}


def _split(made: Sequence[EarlierAttempt], so: Sequence[bool]) -> int | None:
    """Return how many attempts are so if exactly these passed; the negative number if they failed."""
    passed = [one.passed for one in made]
    if so == passed:
        return sum(so)
    return -sum(so) if all(one != other for one, other in zip(so, passed, strict=True)) else None
