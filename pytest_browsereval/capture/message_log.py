"""``messages.jsonl``: one message a line, written line by line, redacted where it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pytest_browsereval.capture.redaction import redacted
from pytest_browsereval.model.messages import AssistantMessage, Message, message_adapter


class MessageLogger:
    """Appends to an attempt's message log. A killed process loses at most the line being written.

    Args:
        folder: the attempt's folder, which exists.
        redact: replaces secrets in a text before it is written.
        on_message: told of every message after it is written.
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
        plain = message.model_dump(mode="json", by_alias=True, exclude_none=True)
        safe = redacted(plain, self._redact)
        if safe != plain:
            message = message_adapter.validate_python(safe)
        self._append(json.dumps(safe, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self._messages.append(message)
        if self._on_message is not None:
            self._on_message(message)

    def _append(self, line: bytes) -> None:
        end = self._file.seek(0, 2)
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            if len(rest) < len(line):
                self._file.truncate(end)
            raise

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, without secrets."""
        return tuple(self._messages)

    def last_assistant_message(self) -> str | None:
        """Return the text of the last message of the model, or None."""
        texts = (m.content for m in reversed(self._messages) if isinstance(m, AssistantMessage))
        return next(texts, None)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()
