"""``messages.jsonl``: one message a line, written line by line, redacted where it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from pytest_browsereval.capture.trajectory import read_written
from pytest_browsereval.model.messages import Message, message_adapter, read_message
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
            # Whoever listens must not get the secrets that the line is without.
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


def _writable(message: Message) -> tuple[Message, dict[str, Any]]:
    """Return a message as it can be written and read back, and as plain JSON.

    Arguments of a call may be nested deeply, or hold an object of an agent's own: then the line says so in
    their place, for that the call was made is not to be lost.
    """
    field = {"tool_call": "params", "tool_result": "result"}.get(message.type, "")
    why = f"nested more than {DEEPEST} levels" if field and _is_deep(getattr(message, field)) else ""
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


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inner = [
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        ]
        if not inner:
            return False
        level = [each for one in inner for each in one]
    return True


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
    log = MessageLogger(folder, redact=redact, on_message=on_message)
    try:
        log.log(message)
    finally:
        log.close()


def read_messages(folder: Path) -> Iterator[Message]:
    """Yield the messages of an attempt up to a damaged line, such as a last one that was cut by a kill."""
    try:
        lines = read_written(folder / "messages.jsonl").split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            yield read_message(line)
        except ValueError:
            return
