"""The ``scripted`` agent: plays the row's solution. It shows that task, site and graders fit together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import JsonValue

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.errors import ErrorSource, Fault, nearest
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import DONE, Tool
from pytest_browsereval.tools.variables import TYPING

EXAMPLE = '"solution": [{"tool": "click", "target": "text=Buy"}, {"tool": "done", "answer": "bought"}]'

_VARIABLE = re.compile(r"(\$*)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def find_variable(step: Mapping[str, JsonValue]) -> str | None:
    """Return the name of the variable that a step types: its text is ``${NAME}`` as a whole."""
    match = _match_variable(step)
    return match[2] if match and not match[1] else None


def escape_text(text: str) -> str:
    """Return what a step has as its text to type this text, were it ``${NAME}`` itself."""
    return f"${text}" if _VARIABLE.fullmatch(text) else text


def check_variables(
    solution: Iterable[Mapping[str, JsonValue]],
    allowed: Collection[str],
    known: Collection[str],
    *,
    trusted: bool,
) -> None:
    """Refuse a solution that types variables which it may not, or which are not set.

    A row is the work of others and chooses the page: it must not send a variable of the environment there.

    Args:
        solution: of a row.
        allowed: the names that the config has under ``variables``.
        known: those of them that are set.
        trusted: whether its dataset is.

    Raises:
        ValueError: with what to write.
    """
    for number, step in enumerate(solution, 1):
        name = find_variable(step)
        if name is not None and name not in allowed:
            raise ValueError(
                f"step {number} of the solution types ${{{name}}}, which `variables` of the config does not "
                f"have.{nearest(name, allowed)} Write `variables: [{name}]` in the config, or "
                f"`$${{{name}}}` in the row for the text itself."
            )
        if name is not None and not trusted:
            raise refuse_untrusted(f"step {number} of the solution types ${{{name}}}")
        if name is not None and name not in known:
            raise ValueError(
                f"step {number} of the solution types ${{{name}}}, and the environment variable {name!r} is "
                "not set. Set it."
            )


def refuse_untrusted(what: str) -> ValueError:
    """Return the error of a row that names a variable, and whose dataset is not trusted."""
    return ValueError(
        f"{what}, and a row chooses the page that gets it: only rows of a trusted dataset may do that. Read "
        "the rows and write `trusted: true` in the block of their dataset, such as "
        "`dataset: [{path: rows.jsonl, trusted: true}]`."
    )


def _match_variable(step: Mapping[str, JsonValue]) -> re.Match[str] | None:
    text = step.get("text")
    is_typed = step.get("tool") in TYPING and isinstance(text, str)
    return _VARIABLE.fullmatch(str(text)) if is_typed else None


def _fill_variable(step: Mapping[str, JsonValue], values: Mapping[str, str]) -> Mapping[str, JsonValue]:
    """Return a step with what it types: the value of a variable, or the text without its escape."""
    match = _match_variable(step)
    if match is None:
        return step
    # An executor's row, say, which no check before the run has seen.
    if not match[1] and match[2] not in values:
        raise Fault(
            ErrorSource.HARNESS,
            f"the solution types ${{{match[2]}}}, which this row may not type: only rows of a dataset with "
            "`trusted: true` may, and only what `variables` of the config names and the environment has",
        )
    return {**step, "text": str(step["text"])[1:] if match[1] else values[match[2]]}


class ScriptedConfig(AgentConfig):
    """Calls the tools that the row's ``solution`` lists, in order; costs no model."""

    type: Literal["scripted"] = "scripted"

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return ScriptedAgent(context)

    def check(self, task: Task, tools: Mapping[str, Tool]) -> None:
        """Check that the row has a solution whose steps the tools can take.

        Raises:
            ValueError: it has none, or a step names no tool, or its arguments are wrong.
        """
        if not task.solution:
            raise ValueError(
                f"the scripted agent plays the row's solution, but there is none. Write {EXAMPLE}"
            )
        for _, message in check_steps(task.solution, tools):
            raise ValueError(message)


def check_steps(
    steps: Sequence[Mapping[str, JsonValue]], tools: Mapping[str, Tool], whole: str = "the solution"
) -> Iterator[tuple[int, str]]:
    """Yield the numbers of steps that cannot be taken, each with what is wrong and what to write.

    All of them before the first one is taken: none must fail half-way for a misspelt tool.

    Args:
        steps: of a solution.
        tools: by name.
        whole: what messages call the solution.
    """
    for number, step in enumerate(steps, 1):
        where = f"step {number} of {whole}"
        try:
            _check_step(where, step, tools)
        except ValueError as error:
            yield number, str(error)
            continue
        if step["tool"] == DONE and number < len(steps):
            why = "which ends the task: the steps after it never play. Make it the last one."
            yield number, f"{where} is {DONE!r}, {why}"


def _check_step(where: str, step: Mapping[str, JsonValue], tools: Mapping[str, Tool]) -> None:
    name, arguments = _parts(step)
    if not isinstance(name, str):
        message = f"{where} is {dict(step)!r}, which names no tool. Write {EXAMPLE}"
        raise ValueError(message)  # noqa: TRY004 the row is wrong, regardless of its types
    if name not in tools:
        raise ValueError(
            f"{where} calls {name!r}, which is not a tool that is switched on.{nearest(name, tools)} "
            f"Tools: {', '.join(tools)}."
        )
    try:
        tools[name].check_arguments(arguments)
    except ValueError as error:
        known = ", ".join(tools[name].parameters) or "none"
        raise ValueError(f"{where}: wrong arguments for {name}: {error}. It takes: {known}.") from None


def _parts(step: Mapping[str, JsonValue]) -> tuple[JsonValue, dict[str, Any]]:
    return step.get("tool"), {key: value for key, value in step.items() if key != "tool"}


class ScriptedAgent(AgentEvaluator):
    """One attempt at playing a solution."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context

    async def execute(self) -> AgentResult:
        """Call the tools; a step that fails ends the play without an answer, and graders judge the rest."""
        context = self._context
        context.tools.fills_variables = False  # these are, below: a text may be ``${NAME}`` itself
        for number, step in enumerate(context.task.solution, 1):
            name, arguments = _parts(_fill_variable(step, context.variables))
            result = await context.tools.call(str(name), arguments)
            if not result.ok:
                context.capture.add_error(
                    ErrorSource.AGENT, f"step {number} of the solution failed: {name}: {result.output}"
                )
                return AgentResult(None)
        return AgentResult(context.tools.answer)
