"""The ``orchestrator-executor`` agent: a model that sees no page hands goals to executors, one at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.errors import ConfigError, ErrorSource, TerminationReason
from pytest_browsereval.features.orchestrator.delegate_tool import Delegator
from pytest_browsereval.features.orchestrator.delegation import with_endings
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.features.shared.tool_loop.conversation import Conversation
from pytest_browsereval.features.shared.tool_loop.loop import ToolLoop, Turns
from pytest_browsereval.llm.client import ChatClient, chat_client, check_key
from pytest_browsereval.llm.config import BOTH_SPELLINGS, LLMConfig
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.registry import MemberOf
from pytest_browsereval.tools.base import DONE, GIVE_UP, Tool
from pytest_browsereval.tools.toolkit import Toolkit

ROLE = "orchestrator"

SYSTEM = read_prompts(__file__)["system"]


class OrchestratorBlock(LLMConfig):
    """The model that delegates."""

    max_turns: int = Field(default=15, ge=1)
    """How many replies the model may give."""
    instructions: str = ""
    """Added to the system prompt."""


class OrchestratorExecutorConfig(AgentConfig):
    """A model that sees no page delegates goals to executors, each of which begins afresh.

    The final answer is what the orchestrator called ``done`` with, else its reply of text without a call.
    If its turns run out first, the answer is the last executor's report in its own words, and there is none
    if that executor was blocked or gave no report; the termination is ``max_steps``.
    """

    model_config = ConfigDict(alias_generator=BOTH_SPELLINGS, hide_input_in_errors=True)

    type: Literal["orchestrator-executor"] = "orchestrator-executor"
    orchestrator: OrchestratorBlock
    """The model that delegates."""
    executor: Annotated[AgentConfig, MemberOf("agent", default="single")]
    """Any other agent; a block without a ``type`` is the model of a ``single`` one."""
    max_steps_per_delegation: int | None = Field(default=None, ge=1)
    """Tool calls of one executor."""
    max_actions: int = Field(default=300, ge=1)
    """Tool calls of all executors of an attempt; ``limits.max_steps`` counts them too and ends it."""
    delegation_timeout_s: float = Field(default=300.0, gt=0, le=86_400)
    """The time of one executor."""

    @field_validator("executor")
    @classmethod
    def _executor_delegates_nothing(cls, value: AgentConfig) -> AgentConfig:
        if isinstance(value, OrchestratorExecutorConfig):
            raise ValueError(  # noqa: TRY004 pydantic takes no TypeError
                "an executor cannot itself delegate. Write the agent that works in the page, such "
                "as `executor: {type: single, provider: ..., model: ...}`"
            )
        return value

    def needs(self) -> Needs:
        """Return what the executor needs; the orchestrator only delegates to it."""
        return self.executor.needs()

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return OrchestratorExecutorAgent(context, self, chat_client(self.orchestrator))

    def preflight(self, base_dir: Path) -> None:
        """Check the orchestrator's key, and what the executor checks.

        Raises:
            ConfigError: a part cannot be used.
        """
        with _part("orchestrator"):
            check_key(self.orchestrator)
        with _part("executor"):
            self.executor.preflight(base_dir)

    def check(self, task: Task, tools: Mapping[str, Tool]) -> None:
        """Check that the executor can work on this row, and report.

        Raises:
            ValueError: it cannot.
        """
        # The executor's own would stand in for it without a word.
        if GIVE_UP in tools:
            raise ValueError(
                f"executors have a tool {GIVE_UP!r} of their own, and there is another one of that name. "
                f"Write `tools: {{{GIVE_UP}: false}}`"
            )
        self.executor.check(task, with_endings(tools))
        last = task.solution[-1].get("tool") if task.solution else None
        if self.executor.type == "scripted" and last not in (DONE, GIVE_UP):
            raise ValueError(
                f"the scripted executor plays the row's solution, whose last step is {last!r}: it would end "
                f'without a report. Add {{"tool": "{DONE}", "answer": "..."}}.'
            )

    def check_tools(self, tools: Mapping[str, Tool], kits: Sequence[Toolkit]) -> tuple[str, ...]:
        """Check what the executor's block says of tools.

        Raises:
            ValueError: it names what there is not.
        """
        # The switches of the attempt are resolved once, for the whole agent.
        if self.executor.tools:
            raise ValueError("executor.tools has no effect. Write `tools: {...}` next to `executor`.")
        return self.executor.check_tools(with_endings(tools), kits)

    def secrets(self) -> tuple[str, ...]:
        """Return those of both parts."""
        return (*self.orchestrator.secrets(), *self.executor.secrets())

    def label(self) -> str:
        """Return the type, the orchestrator's model, and the executor's label."""
        model = self.orchestrator
        return f"{self.type} {model.provider}/{model.model_name} with {self.executor.label()}"


@contextlib.contextmanager
def _part(name: str) -> Iterator[None]:
    """Tell which part of the block an error is about."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


class OrchestratorExecutorAgent(AgentEvaluator):
    """One attempt of an orchestrator and its executors."""

    def __init__(self, context: AgentContext, config: OrchestratorExecutorConfig, client: ChatClient) -> None:
        self._context = context
        self._config = config
        self._client = client

    async def execute(self) -> AgentResult:
        """Work until the orchestrator has an answer, or no turns."""
        config, context = self._config, self._context
        turns = Turns(config.orchestrator.max_turns)
        # Without a span: only executors are nested in the log.
        capture = context.capture.nest(None, role=ROLE)
        delegator = Delegator(context, config, capture, turns)
        conversation = self._conversation(turns)
        loop = ToolLoop(self._client, delegator, capture, conversation, turns=turns)
        answer = await loop.run()
        if answer is not None or delegator.is_done or not loop.is_out_of_turns:
            return AgentResult(answer)
        report = delegator.last
        last = report.words if report and report.status != "blocked" else ""
        if last:
            why = "out of turns: the last executor's report is used as the answer"
            capture.add_warning(ErrorSource.AGENT, why)
        note = f"orchestrator.max_turns is {turns.limit}; all were used"
        return AgentResult(last or None, TerminationReason.MAX_STEPS, note=note)

    def _conversation(self, turns: Turns) -> Conversation:
        config, task = self._config.orchestrator, self._context.task
        conversation = Conversation(keep_pages=turns.limit)
        system = SYSTEM.format(nonce=conversation.nonce, turns=turns.limit)
        conversation.add_system(f"{system}{config.instructions}".strip())
        where = f"is at {task.start_url}" if task.start_url else "shows an empty page"
        conversation.add_user(f"The task:\n{task.query}\n\nThe browser {where}.")
        return conversation
