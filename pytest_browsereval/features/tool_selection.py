"""Which tools a model is offered, turn by turn: what toolkits declare, put together."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.guidance import Offer, offer, policy_text, vetoes
from pytest_browsereval.tools.toolkit import Toolkit, Turn


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
        """Return what a turn offers.

        Raises:
            Fault: a toolkit's directive broke.
        """
        return offer(self._kits, self._available, turn)
