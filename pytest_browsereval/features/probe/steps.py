"""The steps of an attempt that has passed, as a known way."""

from __future__ import annotations

import re

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.ways import Call, Refused, read_way
from pytest_browsereval.runs.attempt import StoredAttempt

_POINTS = {"x", "y", "start_x", "path", "position"}


def read_steps(attempt: StoredAttempt, config: EvalConfig) -> tuple[tuple[Call, ...], bool] | None:
    """Return the steps, and whether they mean the same on another day; None if they cannot be played.

    Args:
        attempt: has passed.
        config: of the run.
    """
    try:
        way = read_way(attempt, config).clean
    except (Refused, UsageError):
        return None
    return (way.solve(), all(map(_is_sure, way.calls))) if way.calls else None


def _is_sure(call: Call) -> bool:
    """Whether a call names what it acts on: a number may be of an order, or of one of several elements."""
    targets = [str(call[key]) for key in ("target", "source") if key in call]
    return _POINTS.isdisjoint(call) and not any(re.search(r"\d", one) for one in targets)
