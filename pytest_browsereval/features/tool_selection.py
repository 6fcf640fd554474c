"""Which tools a model is offered, turn by turn: what toolkits and the agent's block declare, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from pytest_browsereval.errors import nearest
from pytest_browsereval.llm.config import BOTH_SPELLINGS
from pytest_browsereval.tools.base import ENDINGS, Tool
from pytest_browsereval.tools.guidance import Offer, offer, policy_text, vetoes
from pytest_browsereval.tools.toolkit import Directive, ToolChoice, Toolkit, Turn

Turns = Literal["first", "every", "later"]


class TurnRule(BaseModel):
    """A directive of an agent's block: what its model is offered in some of its turns."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, alias_generator=BOTH_SPELLINGS
    )

    turns: Turns = "every"
    """The ``first`` turn of an attempt, ``every`` one, or all ``later`` than the first."""
    active_tools: tuple[str, ...] = ()
    """Tools and toolkits to offer; none: all that are there."""
    tool_choice: ToolChoice | None = None
    """``required``: the model has to call a tool."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.active_tools and self.tool_choice is None:
            raise ValueError("says nothing. Write `active_tools: [NAME, ...]` or `tool_choice: required`")
        return self

    def holds(self, turn: Turn) -> bool:
        """Return whether it is about a turn."""
        return self.turns == "every" or (self.turns == "first") == (turn.number == 1)


class Focus:
    """What one model reads about the tools of an attempt, and which it is offered.

    Args:
        tools: those of its toolbox.
        kits: the toolkits of the run.
        rules: those of the agent's block.
        sees_pictures: whether it is shown pictures of the page.
        sends_choice: False for a server that refuses ``tool_choice``.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        kits: Sequence[Toolkit] = (),
        rules: Sequence[TurnRule] = (),
        *,
        sees_pictures: bool = True,
        sends_choice: bool = True,
    ) -> None:
        self.vetoes = vetoes(kits, {tool.name for tool in tools}, sees_pictures=sees_pictures)
        """Tools of the toolbox that it is not offered at all, each with the reason."""
        self.sends_choice = sends_choice
        self._available = tuple(tool.name for tool in tools if tool.name not in self.vetoes)
        self._kits = tuple(kits)
        self._rules = tuple(rules)

    @property
    def policy(self) -> str:
        """The policy sections for its system prompt."""
        return policy_text(self._kits, self._available)

    def offer(self, turn: Turn) -> Offer:
        """Return what a turn offers.

        Raises:
            Fault: a toolkit's directive broke.
        """
        own = [self._directive(rule) for rule in self._rules if rule.holds(turn)]
        return offer(self._kits, self._available, turn, own)

    def _directive(self, rule: TurnRule) -> Directive:
        return Directive(tuple(expanded(rule.active_tools, self._kits)), rule.tool_choice)


def expanded(names: Iterable[str], kits: Iterable[Toolkit]) -> list[str]:
    """Return names of tools in the place of those of toolkits."""
    members = {kit.key: kit.names for kit in kits}
    return [tool for name in names for tool in members.get(name, (name,))]


def check_rules(
    rules: Sequence[TurnRule],
    tools: Mapping[str, Tool],
    kits: Sequence[Toolkit],
    vetoed: Mapping[str, str],
) -> None:
    """Check before anything is spent that each rule names what there is.

    Args:
        rules: those of an agent's block.
        tools: the tools that are switched on, by name.
        kits: the toolkits of the run.
        vetoed: tools that the model is not offered, each with the reason.

    Raises:
        ValueError: a name is unknown, or nothing of it is on.
    """
    reasons = {**{name: why for kit in kits for name, why in kit.vetoes.items()}, **vetoed}
    for number, rule in enumerate(rules, 1):
        where = f"directives: number {number} names"
        for name in rule.active_tools:
            _check_name(name, where, tools, kits, reasons)
        if rule.active_tools and set(expanded(rule.active_tools, kits)) <= set(ENDINGS):
            raise ValueError(f"{where} the finishing tool only, which is always offered. Name others too.")


def _check_name(
    name: str, where: str, tools: Mapping[str, Tool], kits: Sequence[Toolkit], vetoed: Mapping[str, str]
) -> None:
    known = [key for kit in kits for key in (kit.key, *kit.names)]
    if name not in known:
        raise ValueError(
            f"{where} {name!r}, which is not a tool or toolkit.{nearest(name, known)} "
            f"Tools that are on: {', '.join(tools)}."
        )
    members = expanded([name], kits)
    if any(member in tools and member not in vetoed for member in members):
        return
    if why := "; ".join(dict.fromkeys(vetoed[member] for member in members if member in vetoed)):
        raise ValueError(f"{where} {name!r}, which is not offered: {why}. Take it out.")
    raise ValueError(f"{where} {name!r}, which is off. Switch it on in `tools`, or take it out.")
