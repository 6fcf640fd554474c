"""Measures of an attempt from its message log, without a model: calls, failures, repetitions, tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.graders.judging.steps import Step
from pytest_browsereval.graders.values import read_json
from pytest_browsereval.model.messages import Message, ToolCallMessage, ToolResultMessage

CHARACTERS_A_TOKEN = 4
"""The usual rule of thumb, for agents that report no usage."""


def find_success(step: Step) -> bool | None:
    """Return whether a call succeeded; None if the attempt ended before its result."""
    return not step.is_error and read_success(step.result) is not False if step.is_over else None


def read_success(result: Any) -> bool | None:
    """Return whether a result says that it is one of success; None if it says nothing that we know."""
    if isinstance(result, str):
        inner = read_json(result)  # else a plain sentence, the other shape that tools may answer in
        return read_success(inner) if isinstance(inner, dict) else True
    ok = result.get("ok") if isinstance(result, dict) else None
    return ok if isinstance(ok, bool) else None


def count_retries(calls: Sequence[Step]) -> int:
    """Return how often a tool was called twice in a row, with any arguments."""
    return sum(before.tool == after.tool for before, after in pairwise(calls))


def sum_durations(calls: Sequence[Step]) -> dict[str, JsonValue]:
    """Return what was measured of the calls' time; what was not is left out, never made up."""
    known = [(call.tool, call.duration_ms) for call in calls if call.duration_ms is not None]
    by_tool: dict[str, float] = {}
    for tool, duration_ms in known:
        by_tool[tool] = round(by_tool.get(tool, 0.0) + duration_ms, 3)
    return {"measured_calls": len(known), "total_ms": round(sum(by_tool.values()), 3), "by_tool": {**by_tool}}


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the log holds: a quarter of its characters."""
    return sum(map(len, _list_texts(messages))) // CHARACTERS_A_TOKEN


def _list_texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, ToolCallMessage):
            yield message.tool + json.dumps(message.params, ensure_ascii=False)
        elif isinstance(message, ToolResultMessage):
            result = message.result
            yield result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        else:
            yield get_message_text(message)


def get_message_text(message: Message) -> str:
    """Return what a message that is not a tool's says."""
    for name in ("content", "instruction", "summary"):
        if isinstance(text := getattr(message, name, None), str):
            return text
    return ""
