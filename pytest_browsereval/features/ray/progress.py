"""How far all parts are, as one line that is written anew on a terminal."""

from __future__ import annotations

import io
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

from pytest_browsereval.features.ray.part import PartState
from pytest_browsereval.model.display import fit, format_count, one_line, percent

EVERY_S = 30.0
"""How often there is a line where it cannot be written anew, in a log of CI for example."""


class Progress:
    """Writes the line.

    Args:
        of: how many parts there are.
        out: where to.
    """

    def __init__(self, of: int, out: TextIO | None = None) -> None:
        self._of = of
        self._out = sys.stdout if out is None else out
        self._last = ""
        self._at = 0.0

    def show(self, states: Mapping[int, PartState], done: int, running: int, nodes: int) -> None:
        """Say how far all is.

        Args:
            states: of all parts that have begun, by number.
            done: parts that have ended.
            running: parts on nodes.
            nodes: of the cluster.
        """
        text = describe(states, self._of, done, running, nodes)
        if text == self._last:
            return
        if self._out.isatty():
            self._last = text
            self._write(f"\r{fit(text, shutil.get_terminal_size().columns - 1)}")
        elif time.monotonic() - self._at >= EVERY_S:
            self._last, self._at = text, time.monotonic()
            self._write(f"{text}\n")

    def note(self, text: str) -> None:
        """Write a line that stays.

        Args:
            text: may be of a page, a row or another program.
        """
        if self._out.isatty() and self._last:
            self._write("\r\033[K")
            self._last = ""
        self._write(f"{one_line(text, 2_000)}\n")

    @contextmanager
    def others(self) -> Iterator[None]:
        """Take what others print meanwhile: Ray prints logs of dead nodes from a thread of its own."""
        try:
            with redirect_stdout(_Others(self)):
                yield
        finally:
            if self._out.isatty() and self._last:  # what comes next begins a line
                self._write("\n")
                self._last = ""

    def _write(self, text: str) -> None:
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "replace").decode(encoding))
        self._out.flush()


class _Others(io.TextIOBase):
    """Passes on the first line of each message, cut and without what a terminal would obey."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def write(self, text: str) -> int:
        """Take a message; lines of a log in it are left out."""
        line = _COLOURS.sub("", text.partition("\n")[0]).strip()
        if line:
            self._progress.note(one_line(line, 300))
        return len(text)


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def describe(states: Mapping[int, PartState], of: int, done: int, running: int, nodes: int) -> str:
    """Return how far all is: parts, trials, pass rate so far, spend, nodes."""
    found = list(states.values())
    judged, passed = sum(one.judged for one in found), sum(one.passed for one in found)
    rate = f", {percent(passed / judged)} passed" if judged else ""
    cost = sum(one.cost_usd for one in found)
    more = "" if all(one.is_cost_known for one in found) else "+"
    spend = f" · ${cost:.2f}{more}" if cost or more else ""
    parts = f"{format_count(done, 'part')} done, {running:,} running, {of - done - running:,} waiting"
    trials = format_count(sum(one.trials for one in found), "trial")
    return f"{parts} · {trials}{rate}{spend} · {format_count(nodes, 'node')}"
