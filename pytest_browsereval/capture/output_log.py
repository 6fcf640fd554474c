"""Output in a file: readable, without secrets, and of a limited size."""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO

HEAD_BYTES = 4_000_000
TAIL_BYTES = 200_000
"""What is kept of a program's output."""

MOST_LINES = 4

_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that are not seen and change how others are."""
_JOINERS = "\u200c\u200d"
"""What words and emojis are joined by."""


def readable(line: bytes) -> str:
    """Return the line as text; bytes that are none, and control characters, are written as escapes."""
    return escape_text(line.decode(errors="backslashreplace").rstrip("\r\n"))


def escape_text(text: str) -> str:
    """Return the text with characters that could steer a terminal or turn the writing round as escapes."""
    return text if text.isprintable() else "".join(map(_escape_char, text))


def _escape_char(char: str) -> str:
    if char == "\t" or char in _JOINERS or unicodedata.category(char) not in _STEERING:
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else ascii(char)[1:-1]


class OutputLog:
    """Takes output line by line.

    Args:
        path: the file, which is begun anew.
        redact: replaces secrets in a text before it is written.
        head_bytes: how much of the beginning is kept.
        tail_bytes: how much of the end is kept of more output than both together.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        redact: Callable[[str], str],
        *,
        head_bytes: int = HEAD_BYTES,
        tail_bytes: int = TAIL_BYTES,
    ) -> None:
        self._file: IO[bytes] = path.open("wb")
        self._redact = redact
        self._head_bytes, self._most_of_tail = head_bytes, tail_bytes
        self._written = 0
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._left_out = 0
        self._last: deque[str] = deque(maxlen=MOST_LINES)
        self.trouble: OSError | None = None
        """Why something was not written: a full disk, for example."""

    def write(self, line: bytes) -> None:
        """Take one line; never raises."""
        self.write_text(readable(line))

    def write_text(self, line: str) -> None:
        """Take one line that is readable; never raises."""
        text = self._redact(line)
        if text.strip():
            self._last.append(text.strip())
        data = text.encode(errors="backslashreplace") + b"\n"
        # Once something is held for the end, nothing may overtake it.
        if self._written + len(data) <= self._head_bytes and not self._tail:
            self._written += len(data)
            self._put(data)
            return
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes > self._most_of_tail:
            dropped = len(self._tail.popleft())
            self._tail_bytes -= dropped
            self._left_out += dropped

    @property
    def last_words(self) -> str:
        """The last lines with something in them, without secrets."""
        return " | ".join(self._last)

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self.trouble = error

    def close(self) -> None:
        """Write what was kept of the end, and close the file; closing twice is harmless."""
        if self._file.closed:
            return
        if self._left_out:
            self._put(f"[{self._left_out} bytes left out]\n".encode())
        self._put(b"".join(self._tail))
        try:
            self._file.close()
        except OSError as error:
            self.trouble = error
