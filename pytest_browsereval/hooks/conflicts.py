"""Options that contradict each other, or have no effect without another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.names import is_by_hand


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


def check_conflicts(config: pytest.Config, conflicts: Iterable[Conflict]) -> None:
    """Check the options of a feature against each other and those of others.

    Args:
        config: pytest's.
        conflicts: those that the feature knows of.

    Raises:
        UsageError: two contradict each other, or one lacks another; the first such pair.
    """
    for one in conflicts:
        # None for an option of a feature that is left out.
        given = [config.getoption(f"eval_{name}", None) for name in (one.option, one.other)]
        option, other = (None if value == one.default else value for value in given)
        if option and bool(other) is not one.is_needed:
            raise UsageError(one.message.format(other=other))


def check_floor(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Refuse a floor for the pass rate where no item counts in one: each test by hand decides for itself.

    Raises:
        UsageError: there are tests by hand only.
    """
    if config.getoption("eval_min_pass_rate") is None:
        return
    items = list(items)
    if any(map(is_by_hand, items)) and not any(isinstance(item, EvalItem) for item in items):
        raise UsageError(
            "--eval-min-pass-rate is a gate for the rows of eval configs, and here are tests by hand only, "
            "which pass or fail by what they assert. Leave it out, or name a config by --eval-config=FILE."
        )
