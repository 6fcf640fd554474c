"""Options that contradict each other, or have no effect without another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from pytest_browsereval.errors import UsageError


@dataclass(frozen=True)
class Conflict:
    """Two options that cannot be given so; names are without ``--eval-``."""

    option: str
    other: str
    message: str
    """What is wrong and what to type; ``{other}`` is the value of the other one."""
    is_needed: bool = False
    """Whether the option has no effect without the other one, instead of none beside it."""
    default: str | None = None
    """What the one of them says that has a value even if it is not given."""


CONFLICTS = (
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


def check_conflicts(config: pytest.Config, conflicts: Iterable[Conflict] = CONFLICTS) -> None:
    """Check the options of a session against each other.

    Args:
        config: pytest's.
        conflicts: those of a feature that looks after its own options.

    Raises:
        UsageError: two contradict each other, or one lacks another; the first such pair.
    """
    for one in conflicts:
        # None for an option of a feature that is left out.
        given = [config.getoption(f"eval_{name}", None) for name in (one.option, one.other)]
        option, other = (None if value == one.default else value for value in given)
        if option and bool(other) is not one.is_needed:
            raise UsageError(one.message.format(other=other))
