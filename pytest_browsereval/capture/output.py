"""``output.txt``: what the code of an attempt prints, logs and warns of, each line with where it went.

Attempts that run at once share ``sys.stdout`` and the loggers. A context variable says whose code writes;
what routes the process's output asks ``current_output``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from pytest_browsereval.capture.output_log import OutputLog, escape_text
from pytest_browsereval.run_files import open_written

OUTPUT_FILE = "output.txt"
"""Its name in the attempt's folder; not there if nothing was written."""
REGRADING_OUTPUT_FILE = "output-regrading.txt"
"""The same of graders that have judged the attempt again, the last time."""

STDOUT, STDERR, LOG, WARNING = KINDS = ("stdout", "stderr", "log", "warning")
"""Where a line went, as it stands in front of each."""

HEAD_BYTES, TAIL_BYTES = 800_000, 200_000
LONGEST_LINE = 100_000
"""Characters of a line that are kept."""
LONGEST_SECRET = 1_000

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(rf"({'|'.join(KINDS)}) *\| ?(.*)", re.DOTALL)

_current: ContextVar[AttemptOutput | None] = ContextVar("output", default=None)


class AttemptOutput:
    """Keeps what an attempt's code writes. The file is made with the first line.

    Args:
        file: where it goes.
        redact: replaces secrets in a text before it is written.
        is_passed_on: whether it goes on to where it would go without us as well.
    """

    def __init__(self, file: Path, redact: Callable[[str], str], *, is_passed_on: bool = False) -> None:
        self.folder = file.parent
        self.is_passed_on = is_passed_on
        self.trouble: OSError | None = None
        """Why something was not kept."""
        self._file = file
        self.redact = redact
        self._log: OutputLog | None = None
        self._begun: dict[str, list[str]] = {}
        self._is_closed = False
        self._lock = threading.RLock()

    def write(self, kind: str, text: str) -> None:
        """Take a piece of text, from any thread; never raises. A line is written once it is whole."""
        with self._lock:
            if self._is_closed:  # by code that was left behind: the attempt is over
                return
            # Not `splitlines`: `print` ends lines with this alone, and a progress bar uses the others.
            for place, piece in enumerate(text.split("\n")):
                if place:
                    self._put(kind)
                self._begun.setdefault(kind, []).append(piece)

    def _put(self, kind: str) -> None:
        text = "".join(self._begun.pop(kind))
        left_out = len(text) - LONGEST_LINE
        try:
            # With the first line: most attempts print nothing, and have no file for it.
            if self._log is None:
                self._log = OutputLog(self._file, str, head_bytes=HEAD_BYTES, tail_bytes=TAIL_BYTES)
        except OSError as error:
            self.trouble, self._is_closed = error, True
            return
        safe = self.redact(_COLOURS.sub("", text[:LONGEST_LINE].rstrip("\r")))
        if left_out > 0:  # perhaps within a secret, which was not found then
            safe = f"{safe[:-LONGEST_SECRET]}… {left_out + LONGEST_SECRET:,} more characters"
        self._log.write_text(f"{kind:<7} | {escape_text(safe)}")

    def close(self) -> None:
        """Write what was begun, and close the file."""
        with self._lock:
            for kind in [kind for kind, begun in self._begun.items() if any(begun)]:
                self._put(kind)
            self._is_closed = True
            if self._log is not None:
                self._log.close()
                self.trouble = self.trouble or self._log.trouble


def current_output() -> AttemptOutput | None:
    """Return the output of the attempt whose code is running; None outside of attempts."""
    return _current.get()


@contextmanager
def keep_output(
    file: Path, redact: Callable[[str], str], *, is_passed_on: bool = False
) -> Iterator[AttemptOutput]:
    """Keep what is written meanwhile in this context, and in those that are copies of it.

    Args:
        file: where it goes.
        redact: replaces secrets in a text before it is written.
        is_passed_on: whether it goes on to where it would go without us as well.
    """
    output = AttemptOutput(file, redact, is_passed_on=is_passed_on)
    token = _current.set(output)
    try:
        yield output
    finally:
        _current.reset(token)
        output.close()


@contextmanager
def mask_output(mask: Callable[[str], str]) -> Iterator[None]:
    """Take something more out of what the attempt writes meanwhile: the answer of a protected task.

    Args:
        mask: takes it out of a text.
    """
    output = current_output()
    if output is None or mask is str:
        yield
        return
    before = output.redact
    output.redact = lambda text: mask(before(text))
    try:
        yield
    finally:
        output.redact = before


def read_output(folder: Path, name: str = OUTPUT_FILE) -> list[tuple[str, str]]:
    """Return the lines of an attempt's output, each with its kind; no kind says what was left out.

    Args:
        folder: the attempt's.
        name: of the file.
    """
    try:
        with open_written(str(folder / name)) as file:
            text = file.read(2 * (HEAD_BYTES + TAIL_BYTES)).decode("utf-8", "replace")
    except OSError:
        return []
    found = [(line, _LINE.fullmatch(line)) for line in text.removesuffix("\n").split("\n")]
    return [(match[1], match[2]) if match else ("", line) for line, match in found]
