"""WebVoyager's task folders: ``interact_messages.json`` and ``screenshot1.png``, ``screenshot2.png``, ..."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.features.interop.files import find_numbered, read_as, task_folders, wrong
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.tasks import RowMetadata, Task
from pytest_browsereval.run.imports import Imported

KIND = "webvoyager"
MESSAGES = "interact_messages.json"
# The name of a task's folder begins with it; the id follows.
PREFIX = "task"

_TASK = re.compile(r"Now given a task:\s*(?P<query>.+?)\s*Please interact with\s+(?P<url>\S+)", re.DOTALL)
_ACTION = re.compile(r"^\s*Action:\s*(?P<name>\w+)\s*;?\s*(?P<rest>.*)\Z", re.DOTALL | re.MULTILINE)
# Not `screenshot1_no_box.png`: the same picture without the labels that the agent saw.
_PICTURE = r"screenshot(\d+)\.png"


class _ChatMessage(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    role: Literal["system", "user", "assistant"]
    content: str | list[dict[str, Any]]

    @property
    def text(self) -> str:
        """The texts of the content; pictures are files of their own."""
        if isinstance(self.content, str):
            return self.content
        texts = (part.get("text") for part in self.content if part.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


def read_run(folder: Path) -> list[Imported]:
    """Return the attempts of a folder of task folders, or of one task's.

    Raises:
        UsageError: a file is missing or wrong; the message names it.
    """
    return [_read(task) for task in task_folders(folder, MESSAGES)]


def _read(folder: Path) -> Imported:
    file = folder / MESSAGES
    messages = read_as(list[_ChatMessage], file)
    lines = [message for message in messages if message.role != "system"]
    task = _task(lines, file)
    pictures = find_numbered(folder, _PICTURE)
    answer = _answer(lines)
    return Imported(
        folder=folder,
        task=task,
        messages=[ours.UserMessage(content=task.query, timestamp=""), *_steps(lines[1:], pictures)],
        pictures=pictures,
        final_answer=answer,
        termination_reason=TerminationReason.UNKNOWN if answer is None else TerminationReason.COMPLETED,
        agent_config={"type": KIND, "system": [m.text for m in messages if m.role == "system"]},
    )


def _task(lines: list[_ChatMessage], file: Path) -> Task:
    found = _TASK.search(lines[0].text) if lines and lines[0].role == "user" else None
    if found is None:
        raise wrong(file, "its first message gives no task: 'Now given a task: ... Please interact with'.")
    query_id = file.parent.name.removeprefix(PREFIX) or file.parent.name
    website = query_id.partition("--")[0] if "--" in query_id else None
    return Task(
        query_id=query_id,
        query=found["query"],
        dataset=KIND,
        start_url=found["url"],
        metadata=RowMetadata(original_task_id=query_id, website=website),
    )


def _answer(lines: list[_ChatMessage]) -> str | None:
    """Return what the last message answers; None if it is another action."""
    found = _ACTION.search(lines[-1].text) if lines[-1].role == "assistant" else None
    if found is None or found["name"].upper() != "ANSWER":
        return None
    text = found["rest"].strip()
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _steps(lines: list[_ChatMessage], pictures: dict[int, Path]) -> Iterator[Message]:
    """Yield thoughts and actions; the picture of a turn has its number and is taken before its action."""
    turn, call = 1, None
    for line in lines:
        if line.role == "assistant":
            yield ours.AssistantMessage(content=line.text, timestamp="")
            if (call := _call(line.text, f"turn-{turn}")) is not None:
                yield call
            continue
        turn += 1
        if call is None:  # what the agent said was no action
            yield ours.UserMessage(content=line.text, timestamp="")
        else:
            picture, result = turn if turn in pictures else None, line.text
            yield ours.ToolResultMessage(
                tool_call_id=call.tool_call_id,
                result=result,
                is_error=False,
                screenshot=picture,
                timestamp="",
            )
        call = None


def _call(text: str, call: str) -> ours.ToolCallMessage | None:
    """Return the action of a turn, its arguments as they were written; None for an answer or no action."""
    found = _ACTION.search(text)
    if found is None or found["name"].upper() == "ANSWER":
        return None
    rest = found["rest"].strip()
    params = {"argument": rest} if rest else {}
    return ours.ToolCallMessage(tool=found["name"].lower(), tool_call_id=call, params=params, timestamp="")
