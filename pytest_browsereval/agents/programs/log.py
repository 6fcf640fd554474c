"""A program's output in a file: readable, without secrets, and of a limited size."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO

HEAD_BYTES = 4_000_000
TAIL_BYTES = 200_000
"""The beginning and the end are kept of more output than both together."""

LINES_TOLD = 4

_CONTROL = re.compile(r"[^\t\x20-\x7e\x80-\U0010ffff]")


def readable(line: bytes) -> str:
    """Return the line as text; bytes that are none, and control characters, are written as escapes."""
    text = line.decode(errors="backslashreplace").rstrip("\r\n")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


class OutputLog:
    """Takes a program's output line by line.

    Args:
        path: the file, which is begun anew.
        redact: replaces secrets in a text before it is written.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self._file: IO[bytes] = path.open("wb")
        self._redact = redact
        self._written = 0
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._left_out = 0
        self._last: deque[str] = deque(maxlen=LINES_TOLD)
        self.trouble: OSError | None = None
        """Why something was not written: a full disk, for example."""

    def write(self, line: bytes) -> None:
        """Take one line; never raises."""
        text = self._redact(readable(line))
        if text.strip():
            self._last.append(text.strip())
        data = text.encode(errors="backslashreplace") + b"\n"
        if self._written + len(data) <= HEAD_BYTES and not self._tail:
            self._written += len(data)
            self._put(data)
            return
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes > TAIL_BYTES:
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
