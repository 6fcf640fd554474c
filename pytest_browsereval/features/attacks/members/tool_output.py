"""``tool_output``: the payload in the result of a tool, as a server of tools could put it there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_browsereval.features.shared.attack import AttackConfig, Placer
from pytest_browsereval.needs import Needs


class ToolOutputAttack(AttackConfig):
    """The payload in what the agent reads as the result of a tool; it needs no page."""

    type: Literal["tool_output"] = "tool_output"
    tool: str | None = Field(default=None, min_length=1)
    """The name of the tool; by default all."""
    how: Literal["append", "prepend", "replace"] = "append"
    """Whether the payload stands behind the result, before it, or in its place."""

    def needs(self) -> Needs:
        """Return that it needs nothing of the browser."""
        return Needs()

    async def place(self, placer: Placer) -> None:
        """Place nothing: results are altered one by one."""

    def alter_result(self, tool: str, output: str, placer: Placer) -> str | None:
        """Return the result with the payload; None for that of another tool."""
        if self.tool is not None and tool != self.tool:
            return None
        placer.note_delivered(f"result of {tool}")
        if self.how == "replace" or not output:
            return placer.payload
        parts = (output, placer.payload) if self.how == "append" else (placer.payload, output)
        return "\n".join(parts)
