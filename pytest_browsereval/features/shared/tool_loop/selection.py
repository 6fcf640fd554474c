"""Describes tools to a model, and selects which of them each turn offers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.tools.base import ENDINGS, Tool
from pytest_browsereval.tools.toolkit import Directive, ToolChoice, Toolkit, Turn
from pytest_browsereval.tools.toolkits import vetoes


@dataclass(frozen=True)
class Offer:
    """What one request says about tools."""

    names: frozenset[str]
    """The tools that it offers."""
    tool_choice: ToolChoice | None = None


class Focus:
    """What one model reads about the tools of an attempt, and which it is offered.

    Args:
        tools: those of its toolbox.
        kits: the toolkits of the run.
        sees_pictures: whether it is shown pictures of the page.
        sends_choice: False for a server that refuses ``tool_choice``.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        kits: Sequence[Toolkit] = (),
        *,
        sees_pictures: bool = True,
        sends_choice: bool = True,
    ) -> None:
        self.vetoes = vetoes(kits, {tool.name for tool in tools}, sees_pictures=sees_pictures)
        """Tools of the toolbox that it is not offered at all, each with the reason."""
        self.sends_choice = sends_choice
        self._available = tuple(tool.name for tool in tools if tool.name not in self.vetoes)
        self._kits = tuple(kits)

    @property
    def policy(self) -> str:
        """The policy sections for its system prompt."""
        return policy_text(self._kits, self._available)

    def offer(self, turn: Turn) -> Offer:
        """Return what a turn offers: the union of what directives name, within what is available.

        The finishing tool always stays. Where none of the named tools is available nothing is narrowed, so
        that a model is never left with nothing to do but to end. Toolkits with no tool available are not
        asked.

        Raises:
            Fault: a toolkit's directive broke.
        """
        available = self._available
        given = [_ask_directive(kit, turn) for kit in self._kits if set(kit.names) & set(available)]
        directives = [directive for directive in given if directive is not None]
        named = {name for directive in directives for name in directive.active_tools if name in available}
        choices = {directive.tool_choice for directive in directives}
        choice: ToolChoice | None = (
            "required" if "required" in choices else "auto" if "auto" in choices else None
        )
        # A directive that names an ending only would leave a model nothing to do but to end.
        is_narrowed = bool(named - set(ENDINGS))
        names = (name for name in available if not is_narrowed or name in named or name in ENDINGS)
        return Offer(frozenset(names), choice)


def policy_text(kits: Iterable[Toolkit], available: Collection[str]) -> str:
    """Return the policy sections of the toolkits whose tools are there, then what is not available.

    Args:
        kits: the toolkits of the run.
        available: the tools that the model is offered.
    """
    sections, absent = [], []
    for kit in kits:
        if not set(kit.names) & set(available):
            if kit.absent:
                absent.append(kit.absent)
        elif lines := [line.text for line in kit.policy if set(line.needs) <= set(available)]:
            sections.append(_section(kit.label, lines))
    return "\n\n".join([*sections, *([_section("Not available", absent)] if absent else [])])


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)])


def _ask_directive(kit: Toolkit, turn: Turn) -> Directive | None:
    try:
        directive = kit.directive(turn)
        if directive is not None and not isinstance(directive, Directive):
            raise TypeError(f"it returned {directive!r:.80}, neither a Directive nor None")  # noqa: TRY301
    except Exception as error:
        raise Fault(
            ErrorSource.HARNESS,
            f"the directive of the toolkit {kit.key!r} (from {kit.owner}) broke: "
            f"{type(error).__name__}: {error}",
        ) from error
    return directive
