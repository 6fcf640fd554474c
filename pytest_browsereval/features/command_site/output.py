"""Output of a site's command: read from its pipe, redacted and written to a log."""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

_MOST_LINES = 20
_BYTES_READ = 16_384
_CHUNK_BYTES = 65_536
# Bytes of an unfinished line that are not written yet: a secret may lie across two reads.
_HELD_BACK = 4_096
# What was printed may still be in the pipe when the process has ended.
_ENDING_S = 0.5
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[^\t\n\x20-\x7e\x80-\U0010ffff]")


class SiteOutput:
    """The log of one process.

    Args:
        log: the file that is appended to; None keeps the output in a nameless one.
        redact: takes secrets out of a text.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, log: Path | None, redact: Callable[[str], str]) -> None:
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = log.open("a+b") if log is not None else tempfile.TemporaryFile()  # noqa: SIM115
        self._redact = redact
        self._rest = b""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def follow(self, pipe: IO[bytes]) -> None:
        """Read the output until its last writer has ended.

        Runs in a thread of its own: a busy event loop must not block a site that prints.
        """
        self._thread = threading.Thread(target=self._read, args=(pipe,), name="site output", daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]  # Popen's are buffered
                with self._lock:
                    self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        """Write the lines that are whole, without secrets that stand in one or in several of them."""
        whole, end, self._rest = (self._rest + chunk).rpartition(b"\n")
        self._write(self._redact_data(whole + end))
        if len(self._rest) > _CHUNK_BYTES:
            safe = self._redact_data(self._rest)
            self._write(safe[:-_HELD_BACK])
            self._rest = safe[-_HELD_BACK:]

    def _redact_data(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")  # bytes that are not UTF-8 are written as they came
        return self._redact(text).encode("utf-8", "surrogateescape")

    def _write(self, data: bytes) -> None:
        if data and not self._file.closed:
            with contextlib.suppress(OSError):  # the run's own files report a full disk
                self._file.write(data)
                self._file.flush()

    def last_lines(self, *, has_ended: bool) -> list[str]:
        """Return the last lines that were printed.

        Args:
            has_ended: True waits for output that is still in the pipe.
        """
        if has_ended and self._thread is not None:
            self._thread.join(_ENDING_S)
        with self._lock:
            if self._file.closed:
                return []
            self._file.seek(max(0, self._file.seek(0, 2) - _BYTES_READ))
            tail = self._file.read() + self._redact_data(self._rest)
        text = _CONTROL.sub("", tail.decode(errors="replace"))
        return [line.rstrip() for line in text.splitlines() if line.strip()][-_MOST_LINES:]

    def close(self) -> None:
        """Write what is left and close the log; may be called twice."""
        if self._thread is not None:
            self._thread.join(_ENDING_S)
        with self._lock:
            self._write(self._redact_data(self._rest))
            self._rest = b""
            self._file.close()
