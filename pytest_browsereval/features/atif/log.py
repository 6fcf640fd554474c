"""The steps of a document of ATIF as lines of a log, with pictures; what has no place there is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.atif.schema import Call, Content, Part, Result, Step, StepUsage, Trajectory
from pytest_browsereval.features.foreign_files import picture_suffix, wrong
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import DelegationStatus, Message
from pytest_browsereval.model.usage import Usage

DEEPEST = 20
"""Sub-agents of sub-agents that are read."""

STATUSES = get_args(DelegationStatus)


def text_of(content: Content | None) -> str:
    """Return the texts of a message or result."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content if part.type == "text")


def to_usage(metrics: StepUsage) -> Usage:
    """Return the figures of a step as ours."""
    return Usage(
        input_tokens=metrics.prompt_tokens or 0,
        output_tokens=metrics.completion_tokens or 0,
        cache_read_tokens=metrics.cached_tokens or 0,
        cost_usd=metrics.cost_usd,
    )


class LogReader:
    """Reads the steps of one document.

    Args:
        file: the document, which paths of pictures are relative to.
        root: the folder that pictures must be in.
        numbers: places of pictures by their numbers, of a document of ours.
    """

    def __init__(self, file: Path, root: Path, numbers: Mapping[str, Any]) -> None:
        self._file, self._root = file, root.resolve()
        self.messages: list[Message] = []
        self.pictures: dict[int, Path] = {}
        self.system: list[str] = []
        """The first instructions of the agent; our log has no place for them."""
        self.last_words: str | None = None
        """What the agent said at last."""
        self._lost: Counter[str] = Counter()
        self._ids: set[str] = set()
        self._numbers: dict[str, int] = {}
        for number, place in numbers.items():
            if number.isascii() and number.isdecimal() and int(number[:6]) > 0 and isinstance(place, str):
                self._add_picture(place, int(number[:6]))

    def losses(self) -> Iterator[str]:
        """Yield what could not be taken over, in words."""
        yield from (f"{what}: {count}" for what, count in self._lost.items())

    def read(self, document: Trajectory, parent: str | None = None, depth: int = 0) -> None:
        """Add the steps of a document, or of one that is embedded in it."""
        if depth > DEEPEST:
            raise wrong(self._file, f"has sub-agents of sub-agents, more than {DEEPEST} levels.")
        if document.continued_trajectory_ref:
            self._lost["the continuation is in another file and is left out"] += 1
        embedded = {part.trajectory_id: part for part in document.subagent_trajectories or ()}
        self._lost["embedded sub-agents that no result refers to are left out"] += len(embedded)
        for step in document.steps:
            if step.is_copied_context:
                self._lost["steps that repeat an earlier trajectory are left out"] += 1
            else:
                self._read_step(step, parent, embedded, depth)
        self._lost += Counter()  # without those that came to nothing

    def _read_step(
        self, step: Step, parent: str | None, embedded: dict[str | None, Trajectory], depth: int
    ) -> None:
        common: dict[str, Any] = {"timestamp": self._time(step.timestamp), "parent_id": parent}
        text = text_of(step.message)
        self._count_parts(step.message)
        if step.source == "user":
            self.messages.append(ours.UserMessage(content=text, **common))
        elif step.source == "system" and step.find("is_error", bool):
            code = step.find("error_code", str)
            self.messages.append(ours.ErrorMessage(content=text, error_code=code, **common))
        elif step.source == "system":
            self.system.append(text)
        else:
            self._read_turn(step, text, common)
        results = list(step.observation.results if step.observation else ())
        calls = list(step.tool_calls or ())
        for place, call in enumerate(calls):
            mine = [one for one in results if one.source_call_id == call.tool_call_id]
            if any(other.tool_call_id == call.tool_call_id for other in calls[place + 1 :]):
                mine = mine[:1]  # the others are those of the calls that have the same id
            if not mine and place == len(calls) - 1:  # of all calls together
                mine = [one for one in results if one.source_call_id is None]
            results = [one for one in results if not any(one is taken for taken in mine)]
            name = self._make_id(call.tool_call_id)
            if any(one.subagent_trajectory_ref for one in mine):
                self._read_delegation(call, name, mine, common, (embedded, depth))
            else:
                self._read_call(call, name, mine, common)
        for result in results:  # what names no call is something that the agent was given to read
            self._count_parts(result.content)
            self.messages.append(ours.UserMessage(content=text_of(result.content), **common))

    def _read_turn(self, step: Step, text: str, common: Mapping[str, Any]) -> None:
        if step.reasoning_content:
            self._lost["texts of reasoning are left out"] += 1
        metrics = step.metrics
        if metrics and (metrics.prompt_token_ids or metrics.completion_token_ids or metrics.logprobs):
            self._lost["token ids and probabilities are left out"] += 1
        if common["parent_id"] is None and text:
            self.last_words = text
        is_silent = not text and not metrics and (step.llm_call_count == 0 or step.tool_calls)
        if is_silent and not step.llm_call_count:  # a call that no model has made
            return
        usage = to_usage(metrics) if metrics else None
        duration = _positive(step.find("duration_ms", float) or step.find("duration_ms", int))
        self.messages.append(ours.AssistantMessage(content=text, usage=usage, duration_ms=duration, **common))

    def _read_call(self, call: Call, name: str, results: list[Result], common: Mapping[str, Any]) -> None:
        made = {**common, "timestamp": self._time(call.find("timestamp", str), common), "span_id": name}
        self.messages.append(
            ours.ToolCallMessage(tool=call.function_name, tool_call_id=name, params=call.arguments, **made)
        )
        if results:
            self._add_result(name, results, common)

    def _add_result(self, name: str, results: list[Result], common: Mapping[str, Any]) -> None:
        first = results[0]
        is_error = first.find("is_error", bool) is True
        text = "\n".join(text_of(one.content) for one in results)
        pictures = [number for one in results for number in self._list_pictures(one.content)]
        if len(pictures) > 1:
            self._lost["further pictures of a result are kept, but not with their step"] += len(pictures) - 1
        self.messages.append(
            ours.ToolResultMessage(
                tool_call_id=name,
                result={"ok": not is_error, "output": text},
                is_error=is_error,
                screenshot=pictures[0] if pictures else None,
                url=first.find("url", str),
                duration_ms=_positive(first.find("duration_ms", float) or first.find("duration_ms", int)),
                span_id=name,
                parent_id=common["parent_id"],
                timestamp=self._time(first.find("timestamp", str), common),
            )
        )

    def _read_delegation(
        self,
        call: Call,
        name: str,
        results: list[Result],
        common: Mapping[str, Any],
        inside: tuple[dict[str | None, Trajectory], int],
    ) -> None:
        embedded, depth = inside
        first = results[0]
        executor = first.find("executor_id", str) or name
        instruction = call.arguments.get("instruction")
        if not isinstance(instruction, str):
            instruction = json.dumps(call.arguments, ensure_ascii=False)
        made = {**common, "timestamp": self._time(call.find("timestamp", str), common), "span_id": name}
        self.messages.append(
            ours.DelegationMessage(
                instruction=instruction,
                executor_id=executor,
                max_steps=call.find("max_steps", int),
                **made,
            )
        )
        before = len(self.messages)
        for one in (ref for result in results for ref in result.subagent_trajectory_ref or ()):
            part = embedded.get(one.trajectory_id) if one.trajectory_id else None
            if part is None:
                self._lost["sub-agents in other files, or missing, are left out"] += 1
                continue
            if embedded.pop(one.trajectory_id, None) is not None:
                self._lost["embedded sub-agents that no result refers to are left out"] -= 1
            self.read(part, name, depth + 1)
        status, text = first.find("status", str), "\n".join(text_of(one.content) for one in results)
        if status is None and not text:
            return  # the attempt ended before the report
        steps = sum(isinstance(one, ours.ToolCallMessage) for one in self.messages[before:])
        known = first.find("steps_used", int)
        self.messages.append(
            ours.DelegationResultMessage(
                executor_id=executor,
                summary=text,
                status=status if status in STATUSES else "done",
                steps_used=steps if known is None else known,
                current_url=first.find("url", str),
                duration_ms=_positive(first.find("duration_ms", float) or first.find("duration_ms", int)),
                **{**made, "timestamp": self._time(first.find("timestamp", str), common)},
            )
        )

    # -- ids, times and pictures

    def _make_id(self, given: str) -> str:
        """Return an id that no other call of the document has: sub-agents may count from 1 again."""
        name, number = given or "call", 1
        while name in self._ids:
            number += 1
            name = f"{given or 'call'}-{number}"
        self._ids.add(name)
        return name

    def check_time(self, text: str | None) -> bool:
        """Whether a time can be read."""
        with suppress(ValueError):
            return bool(text) and bool(ours.check_time(text or ""))
        return False

    def _time(self, text: str | None, common: Mapping[str, Any] | None = None) -> str:
        if text and self.check_time(text):
            return text
        if text:
            self._lost["times that are not ISO 8601 are left out"] += 1
        return common["timestamp"] if common else ""

    def _count_parts(self, content: Content | None) -> None:
        """Count what a message shows besides texts: a log has pictures of steps only."""
        parts: Iterable[Part] = content if isinstance(content, list) else ()
        for part in parts:
            if part.type != "text":
                self._lost["pictures and sounds in messages are left out"] += 1

    def _list_pictures(self, content: Content | None) -> Iterator[int]:
        parts: Iterable[Part] = content if isinstance(content, list) else ()
        for part in parts:
            if part.type == "image" and part.source is not None:
                number = self._numbers.get(part.source.path)
                if number is None:
                    number = self._add_picture(part.source.path, max(self.pictures, default=0) + 1)
                if number is not None:
                    yield number
            elif part.type != "text":
                self._lost["sounds and other parts of results are left out"] += 1

    def _add_picture(self, place: str, number: int) -> int | None:
        """Take over a picture beside the document; a path may be hostile, and lead anywhere."""
        try:
            path = (self._file.parent / place).resolve()
            is_inside = path.is_relative_to(self._root) and path.is_file() and number not in self.pictures
        except (OSError, ValueError):
            is_inside = False
        if not is_inside:
            self._lost["pictures that are not in the folder are left out"] += 1
            return None
        try:
            picture_suffix(path)
        except UsageError:
            self._lost["files that are not PNG, JPEG or WebP are left out"] += 1
            return None
        self.pictures[number] = path
        self._numbers[place] = number
        return number


def _positive(value: float | None) -> float | None:
    return value if value is not None and value >= 0 else None
