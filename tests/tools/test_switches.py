from __future__ import annotations

import pytest

from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.switches import is_on
from pytest_browsereval.tools.toolkit import Toolkit
from pytest_browsereval.tools.toolkits import CATALOG


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


def test_a_tool_of_two_toolkits_is_on_if_one_is_by_default() -> None:
    """Whichever comes first."""
    kits = [Toolkit("one", "One", (shared,), default_on=False), Toolkit("two", "Two", (shared,))]
    for order in (kits, kits[::-1]):
        assert is_on("shared", order, {})


def test_a_fixed_toolkit_cannot_be_switched_off() -> None:
    """The finishing tool stays, whatever a switch says."""
    assert is_on("done", CATALOG.values(), {"finish": False, "done": False})
    assert not is_on("evaluate", CATALOG.values(), {})
    assert not is_on("outside", CATALOG.values(), {"outside": True})
