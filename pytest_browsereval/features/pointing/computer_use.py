"""The ``computer-use`` agent: a model that is shown pictures of the page and answers with points on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.pointing.actions import KINDS, Action, offered
from pytest_browsereval.features.pointing.agent import PointingAgent, PointingConfig
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.features.shared.tool_loop.conversation import Conversation
from pytest_browsereval.features.shared.tool_loop.loop import Picture, log_reply
from pytest_browsereval.llm.client import ChatClient, chat_client, check_key
from pytest_browsereval.llm.completion import CUT, Completion
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.tools.base import ENDINGS, Tool

COMPUTER = "computer"
"""The one function that the model may call."""

MAX_CALLS = 10
"""Actions of one reply that are performed: their points are all on one picture, which grows old."""

SYSTEM = read_prompts(__file__)["system"]

LONGEST_TEXT = 20_000
"""Characters of a reply without a call that stay in the conversation."""

NO_ACTION = f"Your reply holds no action. Call {COMPUTER} with an action, or with the action done."
TOO_LONG = " It was cut off: use fewer words."
NO_PICTURE = "No picture of the page can be taken now; it may show a dialog, or hang."

_POINTS_HINTS = {
    "normalized": "Points are on a grid over the picture, whatever its size: x runs from 0 at the left edge "
    "to 999 at the right one, y from 0 at the top to 999 at the bottom.",
    "pixels": "Points are pixels of the picture, which is {0} wide and {1} high: x runs from 0 at the left "
    "edge, y from 0 at the top.",
}


class ComputerUseConfig(LLMConfig, PointingConfig):
    """A model that works by pictures and points on them, over chat completions."""

    type: Literal["computer-use"] = "computer-use"
    max_turns: int = Field(default=100, ge=1)
    """How many replies the model may give."""
    max_pictures: int = Field(default=3, ge=1)
    """How many of the latest pictures stay in the conversation."""
    instructions: str = ""
    """Added to the system prompt."""

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return ComputerUseAgent(context, self, chat_client(self))

    def preflight(self, base_dir: Path) -> None:
        """Check that there is a key, and that the model can be shown pictures.

        Raises:
            ConfigError: one of them is missing.
        """
        if not self.traits.has_images:
            raise ConfigError(
                f"the agent {self.type!r} shows pictures, and models of the provider {self.provider!r} take "
                "none. Name another provider, or use `type: single`, which reads pages as text."
            )
        check_key(self)

    def label(self) -> str:
        """Return type, provider and model."""
        return f"{self.type} {self.provider}/{self.model_name}"


class ComputerUseAgent(PointingAgent):
    """One attempt of a model that points at pictures."""

    hint = ". For a model that writes its calls as text, write `tool_calling: json_schema`"

    def __init__(self, context: AgentContext, config: ComputerUseConfig, client: ChatClient) -> None:
        super().__init__(context, config.coordinates, (config.max_turns, "max_turns"))
        self._config = config
        self._client = client
        self._talk = Conversation(keep_pictures=config.max_pictures, waits=config.pays_to_cache)
        self._specs = [specification({tool.name: tool for tool in context.tools.tools})]

    # -- what the model reads

    async def begin(self) -> None:
        """Tell the model its rules and its task, and show it the page."""
        picture = await self.see()
        points = _POINTS_HINTS[self._config.coordinates].format(*self.geometry.extent)
        system = SYSTEM.format(computer=COMPUTER, points=points, nonce=self._talk.nonce)
        self._talk.add_system(f"{system}\n{self._config.instructions}".strip())
        self._context.capture.log_user(f"The page at the start: {self._context.window.url}")
        self._talk.add_user(f"The task:\n{self._context.task.query}")
        self._show(picture)

    async def look_again(self) -> None:
        """Show the model the page after its actions."""
        self._show(await self.see())

    def conclude(self) -> AgentResult:
        """Return the answer."""
        return AgentResult(self._context.tools.answer)

    def _show(self, picture: Picture | None) -> None:
        caption = f"The page now:\n{self._talk.fence(f'URL: {self._context.window.url}')}"
        if picture is None:
            self._talk.add_user(f"{NO_PICTURE} {caption}")
        else:
            self._talk.add_picture(picture.data, picture.media_type, caption)

    # -- what it answers

    async def take_turn(self) -> bool:
        """Perform the actions of a reply, up to the first one that fails; return if any was valid."""
        reply = await self._ask()
        is_valid, why = False, ""
        for number, each in enumerate(reply.tool_calls):
            # Each call needs a result all the same, or providers refuse the history.
            if number == MAX_CALLS:
                why = why or f"only {MAX_CALLS} actions of a reply are"
            if why:
                self._talk.add_result(each.id, f"Not performed: {why}.")
                continue
            if (given := each.arguments) is None:
                action, result = None, await self.refuse(COMPUTER, each.raw, each.problem)
            else:
                named = {} if each.name == COMPUTER or "action" in given else {"action": each.name}
                action, result = await self.act(COMPUTER, {**given, **named})
            if self._context.tools.is_done:
                return True
            is_valid |= action is not None
            why = "" if result.ok else "the action before it failed"
            self._talk.add_result(each.id, *result.for_model())
        if not reply.tool_calls:
            self._talk.add_user(NO_ACTION + TOO_LONG * (reply.finish_reason == CUT))
        return is_valid

    async def _ask(self) -> Completion:
        capture = self._context.capture
        with capture.asking():
            reply = await self._client.complete(self._talk.messages, tools=self._specs)
        log_reply(capture, reply)
        if reply.tool_calls:
            self._talk.add_reply(reply)
        elif reply.text.strip():
            # What a model talks on would come back with each request.
            brief = {**reply.message, "content": beginning(reply.text, LONGEST_TEXT)}
            self._talk.add_reply(replace(reply, message=brief))
        capture.spend(reply.usage)
        return reply


def specification(tools: Mapping[str, Tool]) -> dict[str, Any]:
    """Return the function that the model may call, as chat completions describe one."""
    actions = offered(tools)
    used = {field for name in actions for field in (*KINDS[name].needs, *KINDS[name].takes)}
    fields = {
        name: {"type": field.get("anyOf", [field])[0]["type"], "description": field["description"]}
        for name, field in Action.model_json_schema()["properties"].items()
        if name in used
    }
    texts = {name: KINDS[name].description for name in actions}
    # Executors have endings of their own, which ask for a report.
    texts |= {name: tools[name].description for name in ENDINGS if name in texts}
    parameters = {
        "type": "object",
        "properties": {"action": {"type": "string", "enum": list(actions)}, **fields},
        "required": ["action"],
        "additionalProperties": False,
    }
    lines = ["Perform one action in the browser.", *(f"- {name}: {text}" for name, text in texts.items())]
    function = {"name": COMPUTER, "description": "\n".join(lines), "parameters": parameters}
    return {"type": "function", "function": function}
