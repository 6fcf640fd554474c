"""What is shipped for authors of toolkits: ours keep the contract, and each way to break it is found."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from pytest_browsereval.testing import check_toolkit
from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.toolkit import Directive, Policy, Toolkit, Turn
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
    """Policy, directive and a tool of ours in it as it is."""

    def directive(turn: Turn) -> Directive | None:
        return Directive(("note_down",), "required") if turn.number == 1 else None

    policy = (Policy("Write with `note_down` what you will need.", ("note_down",)), Policy("Be brief."))
    ours = CATALOG["observation"].tools[0]
    good = made(policy=policy, directive=directive, tools=(note_down, ours), absent="You cannot take notes.")
    check_toolkit(good)


def raises(turn: Turn) -> Directive | None:
    raise KeyError(turn.number)


count = itertools.count()


def differs(turn: Turn) -> Directive | None:
    return Directive(tool_choice="required") if next(count) % 2 else None


def says(directive: object) -> Any:
    return lambda turn: directive if turn.called == ("note_down",) else None


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no label": ({"label": " "}, "the label is empty"),
    "no tools": ({"tools": ()}, "it has no tools"),
    "a bad tool": ({"tools": (ReadNotes,)}, "tool 'ReadNotes': the name 'ReadNotes' is not snake_case"),
    "a name of ours": ({"tools": (click,)}, "Two tools or toolkits are named 'click'"),
    "a key of ours": ({"key": "tabs"}, "Two tools or toolkits are named 'tabs'"),
    "our finishing tool": ({"tools": CATALOG["finish"].tools}, "has a tool named 'done', which is the name"),
    "a foreign tool in the policy": (
        {"policy": (Policy("Then call `click`."),)},
        "the policy names 'click', which is not a tool of the toolkit",
    ),
    "a tool that is not needed": (
        {"policy": (Policy("Use note_down."),)},
        "names 'note_down' and does not need it",
    ),
    "an empty line": ({"policy": (Policy(" "),)}, "a line of the policy is empty"),
    "several lines in one": ({"policy": (Policy("One.\nTwo."),)}, "line breaks or control characters"),
    "a long line": ({"policy": (Policy("a" * 301),)}, "the text has 301 characters; 300 are the most"),
    "a long policy": ({"policy": (Policy("a" * 300),) * 6}, "the policy has 1800 characters"),
    "own tools in what is absent": ({"absent": "There is no `note_down`."}, "looks in vain"),
    "a directive that raises": ({"directive": raises}, "raises KeyError: 1"),
    "a directive that varies": ({"directive": differs}, "is not the same twice"),
    "a directive of another type": ({"directive": says(["click"])}, "neither a Directive nor None"),
    "a directive about other tools": (
        {"directive": says(Directive(("click", "note_down")))},
        "names click, which are not tools of the toolkit",
    ),
    "an unknown choice": ({"directive": says(Directive(tool_choice="none"))}, "wants the tool_choice 'none'"),  # type: ignore[arg-type]
}


def test_each_breach_is_found(subtests: pytest.Subtests) -> None:
    """The assertion tells what is wrong."""
    for case, (fields, told) in BROKEN.items():
        with subtests.test(case=case):
            kit = made(**fields)
            with pytest.raises(AssertionError, match=f"^toolkit {kit.key!r}: .*{re.escape(told)}"):
                check_toolkit(kit)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"key": "Acme Notes"}, r"'Acme Notes' is not snake_case\. Write `my_tools` or `acme/tools`"),
        ({"policy": (Policy("x", ("note_dwn",)),)}, r"policy .* name 'note_dwn', .* mean 'note_down'\?"),
        ({"needs_pictures": ("click",)}, r"needs_pictures .* name 'click', which is not one of its tools"),
        ({"vetoes": {"click": "no key"}}, r"vetoes .* name 'click'"),
    ],
)
def test_what_no_run_could_use_cannot_be_made(fields: dict[str, Any], told: str) -> None:
    """Such a toolkit is refused where it is built, before anything is spent."""
    with pytest.raises(ValueError, match=told):
        made(**fields)
