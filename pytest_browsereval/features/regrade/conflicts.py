"""Options that contradict ``--eval-regrade``, or have no effect without it."""

from __future__ import annotations

from pytest_browsereval.hooks.conflicts import Conflict


def _without_agent(other: str) -> Conflict:
    why = (
        f"--eval-regrade runs no agent, so that --eval-{other} has no effect. Leave it out, or run anew "
        "without --eval-regrade."
    )
    return Conflict("regrade", other, why)


CONFLICTS = (
    *map(_without_agent, ("agent", "trials", "headed", "plan")),
    Conflict(
        "regrade",
        "llm",
        "--eval-regrade makes no attempts, and --eval-llm={other} is for the model calls of attempts. "
        "Leave one out.",
        default="live",
    ),
    Conflict(
        "regrade_rows",
        "regrade",
        "--eval-regrade-rows has no effect without --eval-regrade. Add --eval-regrade=RUN.",
        is_needed=True,
        default="stored",
    ),
)
