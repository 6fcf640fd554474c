"""What is shipped for authors of toolkits: ours keep the contract, and each way to break it is found."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_browsereval.testing import check_toolkit
from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.toolkit import Policy, Toolkit
from pytest_browsereval.tools.toolkits import CATALOG


@tool
async def note_down(window: object, text: str) -> str:
    """Write a note."""
    return f"{window} {text}"


@tool
async def ReadNotes(window: object) -> str:  # noqa: N802 wrong on purpose
    """Read. The notes. All of them."""
    return str(window)


@tool
async def click(window: object) -> str:
    """Click."""
    return str(window)


TOOLS = (note_down,)


def made(**fields: Any) -> Toolkit:
    return Toolkit(**{"key": "acme/notes", "label": "Notes", "tools": TOOLS, **fields})


def test_our_toolkits_keep_the_contract(subtests: pytest.Subtests) -> None:
    """All of the catalog."""
    for kit in CATALOG.values():
        with subtests.test(kit=kit):
            check_toolkit(kit)


def test_a_good_toolkit_has_no_problem() -> None:
    """A policy, and a tool of ours in it as it is."""
    policy = (Policy("Write with `note_down` what you will need.", ("note_down",)), Policy("Be brief."))
    ours = CATALOG["observation"].tools[0]
    good = made(policy=policy, tools=(note_down, ours), absent="You cannot take notes.")
    check_toolkit(good)


BROKEN: tuple[tuple[dict[str, Any], str], ...] = (
    ({"tools": ()}, "it has no tools"),
    ({"tools": (ReadNotes,)}, "tool 'ReadNotes': the name 'ReadNotes' is not snake_case"),
    ({"tools": (click,)}, "Two tools or toolkits are named 'click'"),
    ({"tools": CATALOG["finish"].tools}, "has a tool named 'done', which is the name"),
    ({"policy": (Policy("Then call `click`."),)}, "the policy names 'click', which is not a tool"),
    ({"policy": (Policy("Use note_down."),)}, "names 'note_down' and does not need it"),
    ({"policy": (Policy("One.\nTwo."),)}, "line breaks or control characters"),
    ({"policy": (Policy("a" * 301),)}, "the text has 301 characters; 300 are the most"),
    ({"absent": "There is no `note_down`."}, "a model then does not have"),
)


def test_each_breach_is_found(subtests: pytest.Subtests) -> None:
    """The assertion tells what is wrong."""
    for fields, told in BROKEN:
        with subtests.test(told=told):
            kit = made(**fields)
            with pytest.raises(AssertionError, match=f"^toolkit {kit.key!r}: .*{re.escape(told)}"):
                check_toolkit(kit)


UNUSABLE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"key": "Acme Notes"}, r"'Acme Notes' is not snake_case\. Write `my_tools` or `acme/tools`"),
    ({"policy": (Policy("x", ("note_dwn",)),)}, r"policy .* name 'note_dwn', .* mean 'note_down'\?"),
    ({"needs_pictures": ("click",)}, r"needs_pictures .* name 'click', which is not one of its tools"),
)


def test_what_no_run_could_use_cannot_be_made(subtests: pytest.Subtests) -> None:
    """Such a toolkit is refused where it is built, before anything is spent."""
    for fields, told in UNUSABLE:
        with subtests.test(told=told), pytest.raises(ValueError, match=told):
            made(**fields)
