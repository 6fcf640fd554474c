"""What the moments of an attempt come to: the best one, the end, what was lost, the furthest milestone."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.progress import FollowedCheck, Moment, Progress

SLOW_S = 0.25
"""A page that takes so long for its answer would hold the agent up."""
SLOW = f"the page had taken {SLOW_S:g} s or longer to answer before"
"""The note of a moment at which nothing was asked."""
NO_PAGE = "no page was open"


def sum_up(checks: Sequence[FollowedCheck], moments: Sequence[Moment], left_out: int = 0) -> Progress | None:
    """Return the figures of an attempt; None if the page never answered.

    Args:
        checks: those that were asked.
        moments: in their order.
        left_out: how many checks more the row has. Nobody knows whether they held, so none of them counts
            as held: a page could have them left out, and would come further by it.
    """
    known = [one for one in moments if any(held is not None for held in one.held)]
    if not known:
        return None
    plain = [place for place, check in enumerate(checks) if not check.is_milestone]
    milestones = [place for place, check in enumerate(checks) if check.is_milestone]
    total = len(plain) + left_out
    shares = (
        [(one, sum(one.held[place] is True for place in plain) / total) for one in known] if plain else []
    )
    best = max(shares, key=lambda one: one[1], default=None)  # the first of equal ones
    reached = _find_reached(milestones, moments[0], known)
    return Progress(
        checks=total if plain else 0,
        best=best and best[1],
        best_step=best and best[0].step,
        last=shares[-1][1] if shares else None,
        last_step=known[-1].step,
        milestones=len(milestones),
        reached=reached,
        furthest=checks[milestones[reached - 1]].name if reached else "",
        lost=tuple(line for place in plain if (line := _describe_loss(checks[place].name, place, known))),
        note=_describe_gaps(moments),
    )


def _find_reached(milestones: Sequence[int], start: Moment, known: Sequence[Moment]) -> int:
    """Return the place of the furthest milestone, from 1; what may have held from the start is not."""
    is_empty = start.note == NO_PAGE
    given = {p for p in milestones if not is_empty and (not start.held or start.held[p] is not False)}
    furthest = 0
    for moment in known:
        given = {place for place in given if moment.held[place] is not False}
        for number, place in enumerate(milestones, start=1):
            if moment.held[place] and place not in given:
                furthest = max(furthest, number)
    return furthest


def _describe_loss(name: str, place: int, known: Sequence[Moment]) -> str:
    """Return how a check has held and holds no more; "" if it does, or never did."""
    answers = [one for one in known if one.held[place] is not None]
    held = [number for number, one in enumerate(answers) if one.held[place]]
    if not held or held[-1] == len(answers) - 1:
        return ""
    before, after = answers[held[-1]], answers[held[-1] + 1]
    values = [_find_value(place, known, until) for until in (before, after)]
    if all(values) and values[0] != values[1]:
        return f"{name}: {values[0]} {_when(before)}, {values[1]} {_when(after)}"
    return f"{name}: held {_when(before)}, not {_when(after)}"


def _find_value(place: int, known: Sequence[Moment], until: Moment) -> str:
    """Return the value of a check at a moment: it is noted where it was another one before."""
    value = ""
    for moment in known:
        value = moment.found.get(place, value)
        if moment is until:
            break
    return value


def _when(moment: Moment) -> str:
    if moment.is_end:
        return "at the end"
    return f"after step {moment.step}" if moment.step else "at the start"


def _describe_gaps(moments: Sequence[Moment]) -> str:
    gaps, whole = sum(bool(one.note) for one in moments), format_count(len(moments), "moment")
    return f"it could not be read in full at {gaps} of {whole}" if gaps else ""
