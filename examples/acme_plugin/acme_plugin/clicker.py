"""An agent that clicks one button and reads one element."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_browsereval import AgentConfig, AgentContext, AgentEvaluator, AgentResult


class ClickerConfig(AgentConfig):
    """``agent: {type: acme/clicker, button: Press me, read: "#out"}``."""

    type: Literal["acme/clicker"] = "acme/clicker"
    button: str = Field(min_length=1)
    """The accessible name of the button to click."""
    read: str = "body"
    """The element whose text is the answer."""

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return Clicker(self, context)


class Clicker(AgentEvaluator):
    """Clicks, reads, answers."""

    def __init__(self, config: ClickerConfig, context: AgentContext) -> None:
        self._config = config
        self._context = context

    async def execute(self) -> AgentResult:
        """Call two tools; each call is recorded with its picture."""
        tools = self._context.tools
        clicked = await tools.call("click", {"target": f'role=button[name="{self._config.button}"]'})
        if not clicked.ok:
            return AgentResult(final_answer=None)
        seen = await tools.call("read_text", {"target": self._config.read})
        return AgentResult(final_answer=seen.output if seen.ok else None)
