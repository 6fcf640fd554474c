"""Connects the behaviour hooks to a run, each only if some plug-in answers it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.contracts import describe_place, describe_value
from pytest_browsereval.errors import (
    PLUGIN_ERRORS,
    BrowserEvalError,
    ErrorSource,
    Fault,
    LimitReached,
    StopRun,
    advise,
    describe_error,
    name_raised,
)
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.behaviour import Behaviour

OUTCOMES = (pytest.exit.Exception, pytest.skip.Exception, pytest.fail.Exception)
"""What pytest's functions raise; what ``pytest.xfail`` raises is one of the last."""

FIXED = {
    "query_id": "it as it is",
    "graders": "them as they are; the hook pytest_browsereval_grade can judge instead of a grader",
    "depends_on": "it as it is",
    "files": "them as they are",
    "requires_reset": "it as it is",
}
"""What of a task the run has gone by already when plug-ins are asked: a change would have no effect."""


def describe_outcome(hook: str, outcome: BaseException) -> str:
    """Return that a hook has called a function of pytest which decides about tests, not about attempts."""
    return f"{hook} called {name_raised(outcome)}: {outcome}{advise(outcome)}"


def make_behaviour(config: pytest.Config, loaded: EvalConfig) -> Behaviour:
    """Return what the hooks of a session change about attempts; a hook without plug-ins costs nothing."""

    def used(
        name: str, call: Callable[..., Any] | None = None, source: ErrorSource = ErrorSource.HARNESS
    ) -> Any:
        caller = getattr(config.hook, f"pytest_browsereval_{name}")

        def ask(*args: Any) -> Any:
            return caller(**dict(zip(caller.spec.argnames, args, strict=True)))

        return _translate_raised(caller, call or ask, source) if caller.get_hookimpls() else None

    return Behaviour(
        modify_task=used("modify_task", lambda task: _modify(config, task, loaded)),
        record_window=used("record_window"),
        prepare_window=used("prepare_window"),
        window_opened=used("window_opened"),
        watch_agent=used("watch_agent"),
        create_agent=used("create_agent", lambda context: _create(config, context), ErrorSource.AGENT),
        tool_call=used("tool_call"),
        message=used("message"),
        follow=used("follow_attempt"),
        grade=used("grade"),
        review=used("review_attempt"),
    )


def _modify(config: pytest.Config, task: Task, loaded: EvalConfig) -> Task:
    """Return what plug-ins make of a task.

    Raises:
        Fault: it is no task, or one that cannot be run as it is; it names those that may have made it.
    """
    hook = config.hook.pytest_browsereval_modify_task
    given: object = hook(task=task, config=loaded)
    if given is None:
        return task
    if not isinstance(given, Task):
        hint = "Return `task.model_copy(update={...})` or None."
        message = f"returned {describe_value(given)}, which is not a Task. {hint}"
        raise Fault(ErrorSource.HARNESS, f"{_name_hook(hook)} {message}")
    for key, advice in FIXED.items():
        before, after = getattr(task, key), getattr(given, key)
        if before != after:
            to = f" to {after!r}" if key == "query_id" else ""
            message = f"changed the {key} of {task.query_id!r}{to}"
            raise Fault(ErrorSource.HARNESS, f"{_name_hook(hook)} {message}. Leave {advice}.")
    return given


def _create(config: pytest.Config, context: AgentContext) -> AgentEvaluator | None:
    """Return the agent that a plug-in has built; None leaves it to the config.

    Raises:
        Fault: it is none; the message names those plug-ins that may have made it.
    """
    hook = config.hook.pytest_browsereval_create_agent
    given: Any = hook(context=context)
    if given is None or callable(getattr(given, "execute", None)):
        return given  # type: ignore[no-any-return]
    message = f"returned {describe_value(given)}, which is not an agent with `execute`. Return one, or None."
    raise Fault(ErrorSource.AGENT, f"{_name_hook(hook)} {message}")


def _name_hook(hook: Any, error: BaseException | None = None) -> str:
    """Return the name of a hook with the places of the functions that answer it.

    Args:
        hook: pluggy's caller.
        error: what one of them has raised: the others are then left out.
    """
    functions = [implementation.function for implementation in hook.get_hookimpls()]
    codes = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__ if error else None)}
    raising = [function for function in functions if getattr(function, "__code__", None) in codes]
    places = ", ".join(describe_place(function).strip(" ()") for function in raising or functions)
    return f"{hook.name} ({places})"


def _translate_raised(hook: Any, call: Callable[..., Any], source: ErrorSource) -> Callable[..., Any]:
    """Return the call with what plug-ins raise in an attempt's words: it is not pytest that makes attempts.

    The message names hook and plug-in: the traceback of an error often ends in a library that many call.

    Args:
        hook: pluggy's caller.
        call: what calls it.
        source: whose fault an exception is.
    """

    def ask(*args: Any) -> Any:
        try:
            return call(*args)
        except OUTCOMES as outcome:
            kind = StopRun if isinstance(outcome, pytest.exit.Exception) else Fault
            raise kind(ErrorSource.HARNESS, describe_outcome(hook.name, outcome)) from outcome
        except PLUGIN_ERRORS as error:  # the hook is no coroutine: nobody cancels or closes it
            if isinstance(error, BrowserEvalError) and not isinstance(error, LimitReached):
                raise  # on purpose; a limit would be the agent's
            raise Fault(source, f"{_name_hook(hook, error)} raised {describe_error(error)}") from error

    return ask
