"""Asks the guards of a config about a call, and records what they refuse."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from pytest_browsereval.config.guard import GuardConfig, GuardedCall
from pytest_browsereval.errors import (
    PLUGIN_ERRORS,
    BrowserEvalError,
    ErrorSource,
    Fault,
    describe_error,
    is_given_up,
)
from pytest_browsereval.model.messages import now

REFUSALS_FILE = "refused.jsonl"
"""In the folder of an attempt: the calls that guards have refused, a line each; missing if there is none."""


class Refusal(BaseModel):
    """A line of ``refused.jsonl``."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    call_id: str
    """Of the latest call in ``messages.jsonl``: the refused one, but for an answer without a call."""
    tool: str
    guard: str
    """The type of the guard."""
    reason: str
    timestamp: str


async def ask_guards(call: GuardedCall) -> str | None:
    """Return why a call is refused, which the agent reads; None if all guards let it pass.

    Raises:
        Fault: a guard raised, or returned something else than a reason.
    """
    for guard in call.guards:
        reason = await _ask(guard, call)
        if reason is None:
            continue
        _record(guard, call, reason)
        return f"Refused by the guard {guard.type}: {reason}"
    return None


async def _ask(guard: GuardConfig, call: GuardedCall) -> str | None:
    name = f"the guard {guard.type!r}"
    call.asked.append(name)
    try:
        reason: object = guard.check(call)
        if inspect.isawaitable(reason):
            reason = await reason
    except BrowserEvalError:
        raise
    except PLUGIN_ERRORS as error:
        if is_given_up(error):
            raise
        message = f"{name} raised {describe_error(error)} about a call of {call.tool}"
        raise Fault(ErrorSource.HARNESS, message) from error
    if reason is None or (isinstance(reason, str) and reason.strip()):
        return reason
    why = f"{name} returned {reason!r:.80}. Return a reason as a text, or None"
    raise Fault(ErrorSource.HARNESS, why)


def _record(guard: GuardConfig, call: GuardedCall, reason: str) -> None:
    capture = call.capture
    redact = capture.config.redact
    line = Refusal(
        call_id=f"call-{capture.findings.calls}",
        tool=call.tool,
        guard=guard.type,
        reason=redact(reason),
        timestamp=now(),
    )
    try:
        with (capture.config.folder / REFUSALS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line.model_dump(mode="json"), ensure_ascii=False) + "\n")
    except OSError as error:
        capture.add_warning(ErrorSource.MESSAGE_LOGGING, f"a refusal was not written: {error}")


def read_refusals(folder: Path) -> list[Refusal]:
    """Return what guards have refused in an attempt; a line that was cut by a crash is left out.

    Args:
        folder: of the attempt.
    """
    try:
        lines = (folder / REFUSALS_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found: list[Refusal] = []
    for line in lines:
        try:
            found.append(Refusal.model_validate_json(line))
        except ValueError:
            continue
    return found
