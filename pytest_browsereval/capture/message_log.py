"""``messages.jsonl``: one message a line, written line by line, redacted where it is written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from pytest_browsereval.config_text.json_text import is_deep
from pytest_browsereval.model.messages import Message, ToolResultMessage, message_adapter
from pytest_browsereval.redaction.text import redact_line

DEEPEST = 100
"""Levels of a value; about twice as many could be written, and not be read again."""

UNRECORDED = "unrecorded"
"""Stands in a line for a value that JSON cannot hold, with why."""


class MessageLogger:
    """Appends to an attempt's message log. A killed process loses at most the line being written.

    Args:
        folder: the attempt's folder, which exists.
        redact: replaces secrets in a text before it is written, wherever they stand in it.
        on_message: called with every message after it is written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        redact: Callable[[str], str] = str,
        on_message: Callable[[Message], object] | None = None,
    ) -> None:
        self._file = (folder / "messages.jsonl").open("ab", buffering=0)
        self._redact = redact
        self.pending: ToolResultMessage | None = None
        """The latest result whose page was looked at; it is logged once that is over."""
        self._on_message = on_message
        self._messages: list[Message] = []

    def log(self, message: Message) -> None:
        """Append one message.

        Raises:
            OSError: the line could not be written, a full disk for example; no part of it stays.
            ValueError: the log is closed.
        """
        message, plain = _writable(message)
        line, changed = redact_line(plain, self._redact)
        if changed is not None:
            # Listeners must not get the secrets that the line is without.
            message = message_adapter.validate_python(changed)
        self._append(line)
        self._messages.append(message)
        if self._on_message is not None:
            self._on_message(message)

    def _append(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            if written := len(line) - len(rest):  # nobody else writes there, so it is the end
                self._file.truncate(os.fstat(self._file.fileno()).st_size - written)
            raise

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, without secrets."""
        return tuple(self._messages)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()


class Afterwards:
    """Keeps the messages of an attempt in their order while one of them is being finished.

    One at a time: the caller of the next one waits for it first. A killed process loses the lines that
    wait, as it loses the picture that they wait for.

    Args:
        write: appends a message to the log.
    """

    def __init__(self, write: Callable[[Message], None]) -> None:
        self._write = write
        self._held: list[Message] | None = None
        self._task: asyncio.Task[None] | None = None

    def log(self, message: Message) -> None:
        """Write a message, or have it wait for the one that is being finished."""
        if self._held is None:
            self._write(message)
        else:
            self._held.append(message)

    async def begin(self, unfinished: Message, work: Callable[[], Coroutine[Any, Any, Message]]) -> None:
        """Let a message be finished by work that goes on by itself.

        Args:
            unfinished: is written if there is no time for the work.
            work: returns the message as it is to be written.
        """
        try:
            await self.settle()
        except BaseException:
            self.log(unfinished)
            raise
        self._held = [unfinished]
        self._task = asyncio.get_running_loop().create_task(self._finish(self._held, work))

    async def _finish(self, held: list[Message], work: Callable[[], Coroutine[Any, Any, Message]]) -> None:
        try:
            held[0] = await work()
        finally:
            self._release(held)

    def _release(self, held: list[Message]) -> None:
        if self._held is held:
            self._held = None
            with ExitStack() as stack:  # all of them, also if a listener breaks at one
                for message in reversed(held):
                    stack.callback(self._write, message)

    async def settle(self) -> None:
        """Wait until nothing goes on any more; raises what the work has raised."""
        while (task := self._task) is not None:
            try:
                await asyncio.shield(task)
            finally:
                if task.done() and self._task is task:
                    self._task = None

    def end(self) -> None:
        """Wait no longer: what is under way is cancelled, and every line written as it is."""
        if self._task is not None and self._held is not None:
            self._task.cancel()
            self._release(self._held)


def _writable(message: Message) -> tuple[Message, dict[str, Any]]:
    """Return a message as it can be written and read back, and as plain JSON.

    Arguments of a call may be nested deeply, or hold an object of an agent's own: then the line says so in
    their place, for that the call was made is not to be lost.
    """
    field = {"tool_call": "params", "tool_result": "result"}.get(message.type, "")
    why = f"nested more than {DEEPEST} levels" if field and is_deep(getattr(message, field), DEEPEST) else ""
    if not why:
        try:
            return message, _plain(message)
        except PydanticSerializationError as error:
            if not field:
                raise
            why = str(error)
    message = message.model_copy(update={field: {UNRECORDED: why}})
    return message, _plain(message)


def _plain(message: Message) -> dict[str, Any]:
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)


def log_last(
    folder: Path,
    message: Message,
    *,
    redact: Callable[[str], str],
    on_message: Callable[[Message], object] | None,
) -> None:
    """Append a message to the log of an attempt that is over; the arguments are those of the logger.

    Raises:
        OSError: the line could not be written.
    """
    with closing(MessageLogger(folder, redact=redact, on_message=on_message)) as log:
        log.log(message)
