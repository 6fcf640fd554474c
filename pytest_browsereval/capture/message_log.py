"""``messages.jsonl``: one message a line, flushed line by line, redacted where it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_browsereval.model.messages import AssistantMessage, Message


class MessageLogger:
    """Appends to an attempt's message log. A killed process loses at most the line being written.

    Args:
        folder: the attempt's folder, which exists.
        redact: replaces secrets in a line before it is written.
        on_message: told of every message after it is written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        redact: Callable[[str], str] = str,
        on_message: Callable[[Message], object] | None = None,
    ) -> None:
        self._file = (folder / "messages.jsonl").open("a", encoding="utf-8")
        self._redact = redact
        self._on_message = on_message
        self._messages: list[Message] = []

    def log(self, message: Message) -> None:
        """Append one message.

        Raises:
            OSError: the line could not be written, a full disk for example.
        """
        line = message.model_dump_json(by_alias=True, exclude_none=True)
        self._file.write(self._redact(line) + "\n")
        self._file.flush()
        self._messages.append(message)
        if self._on_message is not None:
            self._on_message(message)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far."""
        return tuple(self._messages)

    def last_assistant_message(self) -> str | None:
        """Return the text of the last message of the model, or None."""
        texts = (m.content for m in reversed(self._messages) if isinstance(m, AssistantMessage))
        return next(texts, None)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()
