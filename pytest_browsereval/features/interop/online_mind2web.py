"""Online-Mind2Web's result folders, in both its schemas: ``result.json`` and ``trajectory/`` for a task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_browsereval.config.names import VARIANT_NAME
from pytest_browsereval.features.foreign_files import read_as, read_value, task_folders, wrong
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.tasks import RowMetadata, Task
from pytest_browsereval.run.foreign import Imported

KIND = "online-mind2web"
RESULT = "result.json"
TRAJECTORY = "trajectory"

# In this form steps are blocks, and the last one is the agent's output instead of an action.
SECOND_SCHEMA = "online-mind2web-v2"

# The record has only a text for a step: our log needs the name of a tool.
ACTION = "action"

# A key of ours in their files: it says which variant and trial an attempt is of, so that an export can be
# imported again.
OURS = "browsereval"

NOT_RECORDED = "(what came of it is not recorded)"


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    action: JsonValue = None
    thought: str | None = None
    screenshot: str | None = None


class _Trial(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    variant: str = Field(pattern=VARIANT_NAME, max_length=60)
    trial: int = Field(ge=1)


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    task_id: str | None = Field(default=None, min_length=1)
    task: str = Field(min_length=1)
    schema_version: str | None = None
    final_result_response: str | None = None
    agent_final_answer: str | None = None
    action_history: list[JsonValue] | None = None
    thoughts: list[str | None] | None = None
    browsereval: _Trial | None = None


def read_run(folder: Path) -> list[Imported]:
    """Return the attempts of a folder of task folders, or of one task's.

    Raises:
        UsageError: a file is missing or wrong; the message names it.
    """
    return [_read(task) for task in task_folders(folder, RESULT)]


def _read(folder: Path) -> Imported:
    file = folder / RESULT
    value = read_value(file)
    result = read_as(_Result, value, file)
    pictures = _pictures(folder / TRAJECTORY)
    numbers = {path.name: number for number, path in pictures.items()}
    is_second = result.schema_version == SECOND_SCHEMA
    steps = _second_steps(result, file, numbers) if is_second else _first_steps(result)
    answer = result.agent_final_answer if is_second else result.final_result_response
    query_id = result.task_id or folder.name
    task = Task(
        query_id=query_id,
        query=result.task,
        dataset=KIND,
        # Keys that we have no name for are kept: the writer puts them back.
        metadata=RowMetadata(original_task_id=query_id, source=result.model_extra or None),
    )
    return Imported(
        folder=folder,
        task=task,
        messages=[ours.UserMessage(content=result.task, timestamp=""), *steps],
        pictures=pictures,
        final_answer=answer,
        agent_config={"type": KIND, **({"schema_version": SECOND_SCHEMA} if is_second else {})},
        **(result.browsereval.model_dump() if result.browsereval else {}),
    )


def _pictures(folder: Path) -> dict[int, Path]:
    """Return the pictures in the order of the first numbers in their names, as the benchmark reads them."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        number = re.search(r"\d+", path.name)
        if number is None:
            raise wrong(path, "has no number in its name, by which pictures are put in order.")
        found.append((int(number[0]), path.name, path))
    return {place: path for place, (_, _, path) in enumerate(sorted(found), 1)}


def _first_steps(result: _Result) -> Iterator[Message]:
    """Yield the steps; this schema does not say which picture belongs to which step."""
    steps = zip_longest(result.thoughts or [], result.action_history or [])
    for number, (thought, action) in enumerate(steps):
        yield from _read_thought(thought)
        if action is not None:
            yield from _action(number, action, None)


def _second_steps(result: _Result, file: Path, numbers: dict[str, int]) -> Iterator[Message]:
    steps: Sequence[_Step] = [read_as(_Step, step, file) for step in result.action_history or []]
    for number, step in enumerate(steps):
        if step.screenshot is not None and step.screenshot not in numbers:
            raise wrong(file, f"action_history.{number}: {step.screenshot!r} is not in {TRAJECTORY}.")
        yield from _read_thought(step.thought)
        # The last step holds what the agent said at the end, not an action.
        if number == len(steps) - 1:
            yield from _read_thought(step.action if isinstance(step.action, str) else None)
        elif step.action is not None:
            yield from _action(number, step.action, numbers.get(step.screenshot or ""))


def _read_thought(text: str | None) -> Iterator[Message]:
    if text:
        yield ours.AssistantMessage(content=text, timestamp="")


def _action(number: int, action: JsonValue, picture: int | None) -> Iterator[Message]:
    key = "text" if isinstance(action, str) else "value"
    call = f"action-{number + 1}"
    yield ours.ToolCallMessage(tool=ACTION, tool_call_id=call, params={key: action}, timestamp="")
    yield ours.ToolResultMessage(
        tool_call_id=call, result=NOT_RECORDED, is_error=False, screenshot=picture, timestamp=""
    )
