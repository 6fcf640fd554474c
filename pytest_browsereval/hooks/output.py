"""Keeps output, log records and warnings of attempts with each of them.

pytest captures by the time at which something is written, and attempts run ahead of their items, several at
once. Here the context of the writer decides: see ``capture.output``. Streams stay those that pytest has
put in place, only their ``write`` is wrapped, so that ``capsys``, ``-s`` and streams of others work.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.output import (
    LOG,
    OUTPUT_FILE,
    REGRADING_OUTPUT_FILE,
    STDERR,
    STDOUT,
    WARNING,
    AttemptOutput,
    current_output,
    read_output,
)
from pytest_browsereval.redaction.known import ending, redact_known

LONGEST_SECTION = 20_000
"""Characters of an attempt's output in a report; the file has all."""
MOST_WARNINGS = 100
"""Of an attempt, in pytest's list of warnings."""
SHOW_WARNING = "_showwarnmsg_impl"
"""What Python calls with a warning that its filters let through; pytest replaces it for each item."""
_ATTACHMENT = ("[[ATTACHMENT|", "[[ATTACHMENT |")
"""By the first, readers of JUnit's output take a file in: which ones is not for a page to say."""
LOG_FORMAT = "%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s"


class OutputRouting:
    """Routes the process's output to the attempts that it is of, while the session's items run.

    Args:
        config: pytest's.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._capture: str = getattr(config.option, "capture", "no")
        self._outside = current_output()
        """Of an attempt whose own code runs this session; it gets what this session itself prints."""
        self._streams: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()
        """Streams that are routed, each with its ``write`` and the one that it had of its own before."""
        self._live: dict[str, Callable[[str], object]] = {}
        """Where output is shown at once, if that was asked for."""
        self._warned: dict[Path, list[warnings.WarningMessage]] = {}
        self._handler = _LogHandler(self)

    def output(self) -> AttemptOutput | None:
        """Return the output of the attempt whose code is running; None for any other code."""
        found = current_output()
        return None if found is self._outside else found

    # -- what an item's reports show

    def sections(self, folder: Path) -> list[tuple[str, str]]:
        """Return an attempt's output as sections of a report, named so that ``--show-capture`` finds them.

        Args:
            folder: of the attempt.
        """
        is_shown = self._capture != "no"  # else it is on the screen already
        lines = read_output(folder) + read_output(folder, REGRADING_OUTPUT_FILE)
        texts = {
            kind: "".join(f"{line}\n" for one, line in lines if one == kind).replace(*_ATTACHMENT)
            for kind in ((STDOUT, STDERR, LOG) if is_shown else (LOG,))
        }
        return [(f"Captured {kind} attempt", _end_of(text, folder)) for kind, text in texts.items() if text]

    def report_warnings(self, folder: Path) -> None:
        """Hand an attempt's warnings to pytest while its own item is up.

        Args:
            folder: of the attempt.
        """
        for message in self._warned.pop(folder, ()):
            getattr(warnings, SHOW_WARNING)(message)

    # -- streams

    def route(self) -> None:
        """Route the streams that are in place now, unless they are routed already."""
        for kind, stream in ((STDOUT, sys.stdout), (STDERR, sys.stderr)):
            with contextlib.suppress(AttributeError, TypeError):  # None, or of a kind that cannot be wrapped
                if stream not in self._streams:
                    routed, own = self._route(kind, stream.write), vars(stream).get("write")
                    self._streams[stream] = routed, own
                    vars(stream)["write"] = routed

    def _route(self, kind: str, write: Callable[[str], int]) -> Callable[[str], int]:
        def routed(text: str, /) -> int:
            output = self.output()
            if output is None or not isinstance(text, str):
                return write(text)
            output.write(kind, text)
            if output.is_passed_on:
                return write(text)
            if (live := self._live.get(kind)) is not None:
                live(redact_known(text))
            return len(text)

        return routed

    # -- warnings

    @contextlib.contextmanager
    def _route_warnings(self) -> Iterator[None]:
        """Route warnings until what shows them now is replaced or put back."""
        show = getattr(warnings, SHOW_WARNING, None)
        if show is None:
            yield
            return

        def routed(message: warnings.WarningMessage) -> None:
            output = self.output()
            if output is None:
                show(message)
                return
            kept = self._warned.setdefault(output.folder, [])
            if len(kept) < MOST_WARNINGS:
                kept.append(message)
            text = f"{message.filename}:{message.lineno}: {message.category.__name__}: {message.message}\n"
            output.write(WARNING, text)

        setattr(warnings, SHOW_WARNING, routed)
        try:
            yield
        finally:
            if getattr(warnings, SHOW_WARNING) is routed:
                setattr(warnings, SHOW_WARNING, show)

    # -- loggers

    @contextlib.contextmanager
    def _route_log(self) -> Iterator[None]:
        """Have each attempt's records kept with it, and pytest take those of other code only."""
        plugin: Any = self._config.pluginmanager.get_plugin("logging-plugin")
        formatter = getattr(plugin, "formatter", None) or logging.Formatter(LOG_FORMAT)
        self._handler.setFormatter(formatter)
        level = getattr(plugin, "log_level", None)
        handlers = [getattr(plugin, name, None) for name in ("caplog_handler", "report_handler")]
        kept_from = [one for one in handlers if isinstance(one, logging.Handler)]
        root, before = logging.getLogger(), logging.getLogger().level
        root.addHandler(self._handler)
        for handler in kept_from:
            handler.addFilter(self._is_for_pytest)
        if level is not None:
            self._handler.setLevel(level)
            root.setLevel(min(before, level))  # pytest does so for each item, and we are between them too
        try:
            yield
        finally:
            root.removeHandler(self._handler)
            for handler in kept_from:
                handler.removeFilter(self._is_for_pytest)
            if level is not None:
                root.setLevel(before)

    def _is_for_pytest(self, record: logging.LogRecord) -> bool:
        output = self.output()
        return output is None or output.is_passed_on

    # -- pytest's hooks

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Route from before the first item: nothing captures here, so these are the session's own streams."""
        if self._capture in ("no", "tee-sys"):
            self._live = {STDOUT: sys.stdout.write, STDERR: sys.stderr.write}
        self.route()
        with self._route_log(), self._route_warnings():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """Route warnings within an item, for which pytest has just put its own list in place."""
        with self._route_warnings():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Route the streams that pytest captures a phase by; ``capsys`` has new ones in each."""
        self.route()
        return (yield)

    pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self) -> Generator[None, Any, Any]:
        """Route the streams that a fixture has put in place: those of ``capsys``, or the user's own."""
        result = yield
        self.route()
        return result

    def pytest_unconfigure(self) -> None:
        """Put the streams back as they were; attempts that are given up may write until here."""
        for stream, (routed, own) in list(self._streams.items()):
            if vars(stream).get("write") is routed:
                del vars(stream)["write"]
                if own is not None:  # of a session that runs this one, say
                    vars(stream)["write"] = own
        self._streams.clear()


class _LogHandler(logging.Handler):
    """Keeps records with the attempts that they are of."""

    def __init__(self, routing: OutputRouting) -> None:
        super().__init__()
        self._routing = routing

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record of an attempt; any other one is someone else's."""
        if (output := self._routing.output()) is not None:
            try:
                output.write(LOG, self.format(record) + "\n")
            except Exception:  # noqa: BLE001 as every handler does
                self.handleError(record)


def _end_of(text: str, folder: Path) -> str:
    """Return the end of a long text, whole lines, and where the rest is."""
    if len(text) <= LONGEST_SECTION:
        return text
    end = ending(text, LONGEST_SECTION).partition("\n")[2]
    return f"[{len(text) - len(end):,} characters before are in {folder / OUTPUT_FILE}]\n{end}"
