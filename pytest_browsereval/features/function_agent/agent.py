"""The ``function`` agent: any callable of the user's that gets the context and returns the answer."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.errors import PLUGIN_ERRORS, ErrorSource, Fault, LimitReached, is_given_up
from pytest_browsereval.features.function_agent.callables import is_async, load_callable, place_of
from pytest_browsereval.features.function_agent.hints import JUDGING, describe_raised, place_of_function
from pytest_browsereval.features.function_agent.thread import run_in_thread
from pytest_browsereval.model.results import AgentResult

FORM = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


class FunctionConfig(AgentConfig):
    """A Python callable as the agent."""

    type: Literal["function"] = "function"
    function: str = Field(json_schema_extra={"pattern": FORM})
    """``module:callable``; the module is next to the eval config or is installed."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Anything; the callable finds it in ``context.config.options``."""

    @field_validator("function")
    @classmethod
    def _names_a_callable(cls, value: str) -> str:
        if re.fullmatch(FORM, value) is None:
            module, _, name = value.removeprefix("./").replace("::", ":").rpartition(":")
            meant = f"{module.removesuffix('.py').replace('/', '.')}:{name}"
            meant = meant if re.fullmatch(FORM, meant) else "my_agent:solve"
            raise ValueError(f"write module:callable, such as {meant!r}; it is {value!r:.100}.")
        return value

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return FunctionAgent(context, self.function)

    def preflight(self, base_dir: Path) -> None:
        """Import the module and look at the callable.

        Raises:
            ConfigError: it is not there, or cannot be called with a context.
        """
        load_callable(self.function, base_dir)

    def label(self) -> str:
        """Return type and callable."""
        return f"{self.type} {self.function}"


class FunctionAgent(AgentEvaluator):
    """One attempt of a callable."""

    def __init__(self, context: AgentContext, name: str) -> None:
        self._context = context
        self._name = name

    async def execute(self) -> AgentResult:
        """Call it: an async callable on the loop, any other one in a thread of its own.

        Raises:
            ConfigError: it is not there; a process that has not checked the config finds out here.
        """
        # A worker imports the module now, which may take longer than the loop may be held.
        function = await asyncio.to_thread(load_callable, self._name, self._context.base_dir)
        try:
            if is_async(function):
                returned = await function(self._context)
            else:
                returned = await run_in_thread(function, self._context)
        except PLUGIN_ERRORS as error:
            if is_given_up(error):
                raise
            # A callable may wrap our exceptions in its own; a limit stays a limit.
            ending = _ending(error)
            if ending is not None:
                raise ending from None
            said = describe_raised(error, place_of(error, self._context.base_dir))
            raise Fault(ErrorSource.AGENT, f"{self._name} {said}") from error
        return self._result(returned, function)

    def _result(self, returned: Any, function: Callable[..., Any]) -> AgentResult:
        if isinstance(returned, AgentResult):
            return returned
        if returned is None:
            return AgentResult(self._context.tools.answer)
        if isinstance(returned, str):
            return AgentResult(returned)
        hint = f' Return what the agent answers, such as `return "Done."`. {JUDGING}'
        if inspect.iscoroutine(returned):
            # Else Python warns of a coroutine that nobody awaited, at any later moment.
            returned.close()
            hint = " Write it with `async def`, so that it can be awaited."
        raise Fault(
            ErrorSource.AGENT,
            f"{self._name}{place_of_function(function)} returned {returned!r:.100}; allowed are "
            f"a string, None and an AgentResult.{hint}",
        )


def _ending(error: BaseException) -> BaseException | None:
    """Return what ended the attempt, which the callable may have wrapped in an exception of its own."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, (Fault, LimitReached)):
            return cause
        # Causes may lead round in a ring.
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return None
