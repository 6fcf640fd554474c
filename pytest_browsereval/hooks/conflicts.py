"""Options that contradict each other, or have no effect without another one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_browsereval.errors import UsageError

DEFAULTS = {"regrade_rows": "stored", "llm": "live"}
"""Values of options that count as not given; those of the others are None, False or empty."""


@dataclass(frozen=True)
class Conflict:
    """Two options that cannot be given so; names are without ``--eval-``."""

    option: str
    other: str
    message: str
    """What is wrong and what to type; ``{other}`` is the value of the other one."""
    is_needed: bool = False
    """Whether the option has no effect without the other one, instead of none beside it."""


def _without_agent(other: str) -> Conflict:
    why = f"--eval-regrade runs no agent, so that --eval-{other} has no effect. Leave it out."
    return Conflict("regrade", other, why)


CONFLICTS = (
    Conflict("regrade", "resume", "--eval-regrade makes no attempts, and --eval-resume does. Leave one out."),
    *map(_without_agent, ("agent", "trials", "headed", "plan")),
    Conflict(
        "regrade",
        "llm",
        "--eval-regrade makes no attempts, and --eval-llm={other} is for the model calls of attempts. "
        "Leave one out.",
    ),
    Conflict(
        "regrade_rows",
        "regrade",
        "--eval-regrade-rows has no effect without --eval-regrade. Add --eval-regrade=RUN.",
        is_needed=True,
    ),
    Conflict(
        "resume_anyway",
        "resume",
        "--eval-resume-anyway has no effect without --eval-resume. Add it.",
        is_needed=True,
    ),
    Conflict(
        "shard_by",
        "shard",
        "--eval-shard-by has no effect without --eval-shard. Write  --eval-shard=1/4",
        is_needed=True,
    ),
)


def check_conflicts(config: pytest.Config) -> None:
    """Check the options of a session against each other.

    Raises:
        UsageError: two contradict each other, or one lacks another; the first such pair.
    """

    def given(name: str) -> object:
        value = config.getoption(f"eval_{name}")
        return None if value == DEFAULTS.get(name) else value

    for one in CONFLICTS:
        other = given(one.other)
        if given(one.option) and bool(other) is not one.is_needed:
            raise UsageError(one.message.format(other=other))
