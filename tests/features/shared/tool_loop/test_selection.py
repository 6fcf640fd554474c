from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import pytest

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.shared.tool_loop.selection import Focus, Offer
from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.toolkit import Directive, ToolChoice, Toolkit, Turn
from pytest_browsereval.tools.toolkits import CATALOG


@tool
async def look(window: object) -> str:
    """Look."""
    return str(window)


@tool
async def ask(window: object) -> str:
    """Ask."""
    return str(window)


def first(turn: Turn) -> Directive | None:
    return Directive(("look", "ask"), "required") if turn.number == 1 else None


OWN = Toolkit("own", "Looking", (look, ask), directive=first)


FIRST = Turn(1)


def offered(*kits: Toolkit, turn: Turn = FIRST) -> Offer:
    tools = {tool.name: tool for kit in CATALOG.values() for tool in kit.tools}
    return Focus([look, ask, tools["click"], tools["done"]], kits).offer(turn)


def saying(*directives: Directive) -> list[Toolkit]:
    return [replace(OWN, directive=partial(lambda one, _: one, one)) for one in directives]


def test_what_directives_name_is_put_together() -> None:
    """The union over toolkits, within what is there; the finishing tool always stays."""
    other = Toolkit("other", "Other", (look,), directive=lambda _: Directive(("nothing", "click")))
    assert offered(OWN) == Offer(frozenset({"look", "ask", "done"}), "required")
    assert offered(OWN, other).names == {"look", "ask", "click", "done"}
    assert offered(other) == Offer(frozenset({"click", "done"}), None)


def test_one_that_requires_a_call_is_enough() -> None:
    """``required`` beats ``auto`` beats nothing."""
    cases: list[tuple[list[ToolChoice | None], ToolChoice | None]] = [
        ([None, None], None),
        (["auto", None], "auto"),
        (["auto", "required"], "required"),
        (["required", None], "required"),
    ]
    for choices, choice in cases:
        kits = saying(*(Directive(tool_choice=one) for one in choices))
        assert offered(*kits) == Offer(frozenset({"look", "ask", "click", "done"}), choice)


def test_a_turn_is_never_narrowed_to_nothing() -> None:
    """If nothing of what is named is there, all stays."""
    kits = saying(Directive(("gone",)), Directive(("done",)))
    assert offered(*kits).names == {"look", "ask", "click", "done"}


def test_a_directive_that_breaks_is_not_the_agents_fault() -> None:
    """The attempt errs, and the message names the toolkit and who brings it."""

    def breaks(turn: Turn) -> Directive | None:
        raise KeyError(turn.number)

    def errs(turn: Turn) -> Directive | None:
        return cast("Directive", f"look{turn.number}")

    for directive, told in ((breaks, "KeyError: 1"), (errs, "TypeError: it returned 'look1', neither a")):
        kit = Toolkit("own", "Own", (look,), directive=directive, owner="acme 1.0")
        with pytest.raises(Fault, match=rf"toolkit 'own' \(from acme 1\.0\) broke: {told}") as caught:
            offered(kit)
        assert caught.value.source is ErrorSource.HARNESS
