from __future__ import annotations

import pytest

from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.switches import is_on
from pytest_browsereval.tools.toolkit import Toolkit


@tool
async def shared(window: object) -> str:
    """Be a member of two toolkits."""
    return str(window)


def two_owners(*, default: bool) -> list[Toolkit]:
    return [Toolkit(key, key, (shared,), default_on=default) for key in ("one", "two")]


TOLD: list[tuple[dict[str, bool], bool, bool]] = [
    # the switches, the toolkits' default -> on: the cases that the documentation tells one by one
    ({"one": False, "shared": True}, True, False),
    ({"one": True, "two": False}, True, False),
    ({"two": True}, False, True),
    ({"two": True, "shared": False}, True, False),
    ({"shared": True}, False, True),
    ({"shared": False}, True, False),
    ({}, True, True),
    ({}, False, False),
]


def test_the_cases_of_the_documentation(subtests: pytest.Subtests) -> None:
    """Any owner's false beats all, any owner's true the default."""
    for switches, default, wanted in TOLD:
        with subtests.test(switches=switches, default=default, wanted=wanted):
            assert is_on("shared", two_owners(default=default), switches) is wanted
