"""Options that contradict ``--eval-resume``, or have no effect without it."""

from __future__ import annotations

from pytest_browsereval.hooks.conflicts import Conflict

CONFLICTS = (
    Conflict(
        "resume_anyway",
        "resume",
        "--eval-resume-anyway has no effect without --eval-resume. Add it.",
        is_needed=True,
    ),
)
