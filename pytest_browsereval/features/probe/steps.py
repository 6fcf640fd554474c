"""The steps of an attempt that has passed, as a known way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from pytest_browsereval.agents.scripted import find_variable
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.ways import LOOKS, Call, Refused, read_way
from pytest_browsereval.runs.attempt import StoredAttempt

_POINTS = {"x", "y", "start_x", "path", "position"}


@dataclass(frozen=True)
class PassedSteps:
    """The steps of an attempt that has passed."""

    calls: tuple[Call, ...]
    is_sure: bool
    """Whether they mean the same on another day."""
    pause_s: float
    """The longest time between two actions, or after the last one: what the page had to get ready."""


def read_steps(attempt: StoredAttempt, config: EvalConfig, query: str) -> PassedSteps | None:
    """Return the steps; None if they cannot be played.

    Args:
        attempt: has passed.
        config: of the run.
        query: of the row, whose words and numbers are the same on another day.
    """
    try:
        way = read_way(attempt, config).clean
    except (Refused, UsageError):
        return None
    if not way.calls:
        return None
    return PassedSteps(way.solve(), all(_is_sure(call, query) for call in way.calls), _find_pause(attempt))


def _is_sure(call: Call, query: str) -> bool:
    """Whether a call means the same on another day.

    A number may be of an order, or of one of several elements; a text may be one that the page had shown,
    such as a code.
    """
    if not _POINTS.isdisjoint(call):
        return False
    types = "target" in call and "text" in call and find_variable(call) is None
    if types and str(call["text"]).casefold() not in query.casefold():
        return False
    named = re.sub(r"\D+", " ", query).split()
    keys = ("target", "source")
    given = " ".join(str(call[key]) for key in keys if key in call)
    others = " ".join(str(call[key]) for key in ("url", "value", "values") if key in call)
    return not re.search(r"\d", given) and set(re.findall(r"\d+", others)) <= {*named}


def _find_pause(attempt: StoredAttempt) -> float:
    """Return the longest time between two actions of an attempt, in seconds."""
    acts = [one for one in attempt.steps if one.call.tool not in LOOKS and one.ended_at and one.started_at]
    gaps = [
        (after.started_at - before.ended_at).total_seconds()
        for before, after in pairwise([*acts, *attempt.steps[-1:]])
        if before.ended_at and after.started_at
    ]
    return max([0.0, *gaps])
