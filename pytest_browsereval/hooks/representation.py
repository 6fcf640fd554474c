"""Text of a bad row as pytest shows it, and its one-line form.

pytest's own exceptions come as such an object. A plain text has no ``reprcrash``: the short summary then says
no reason, and readers take the text's last line, or all of it, for the reason.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Container, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model.display import width_of, wrap_text


def _make_example() -> Any:
    """Return what pytest makes of an exception: the classes of such objects have no public name."""
    try:
        pytest.fail("an example")
    except pytest.fail.Exception as failed:
        return pytest.ExceptionInfo.from_exception(failed).getrepr(style="native")


_EXAMPLE = _make_example()
"""Made at import: pytest reads source for it, which must not happen while the loop's thread reads some."""


_NAME = re.compile(r"[a-z]+ {2,}| +(?:- |\d+\. |(?:expected|actual) +)?")
"""What stands at the beginning of a line of a report, above which its other lines do not begin."""
_CODE = "traceback of the "
"""From there on lines are those of files."""


def represent(text: str, message: str, path: Path | str, line: int) -> Any:
    """Return what goes into a report's ``longrepr``.

    Args:
        text: the whole, as it is shown.
        message: the line that says why.
        path: file that it is about.
        line: of that file, from 1.
    """
    shown = copy.deepcopy(_EXAMPLE)
    shown.reprtraceback.reprentries[0].lines = [f"{line}\n" for line in text.split("\n")]
    crash = shown.reprcrash
    crash.path, crash.lineno, crash.message = str(path), max(line, 1), message
    return shown


def wrap_report(shown: Any, width: int) -> Any:
    """Return a copy whose lines have at most so many columns; those of tracebacks stay.

    Args:
        shown: a report's ``longrepr``, as ``represent`` returns it.
        width: columns of the terminal.
    """
    wrapped = copy.copy(shown)
    wrapped.reprtraceback = copy.copy(shown.reprtraceback)
    entry, *rest = shown.reprtraceback.reprentries
    entry = copy.copy(entry)
    entry.lines = [f"{line}\n" for line in _wrap("".join(entry.lines).split("\n")[:-1], width)]
    wrapped.reprtraceback.reprentries = [entry, *rest]
    return wrapped


def _wrap(lines: Iterable[str], width: int) -> Iterator[str]:
    texts = iter(lines)
    for line in texts:
        if line.startswith(_CODE):
            yield from (line, *texts)
            return
        found = _NAME.match(line)
        name = found[0] if found else ""
        room = width - len(name) - 2
        # A path or an address stays in one piece, to be copied.
        if width_of(line) <= width or any(width_of(word) > room for word in line.split()):
            yield line
            continue
        for part in wrap_text(line[len(name) :], width - len(name), "" if name else "  "):
            yield name + part
            name = " " * len(name)


class ReportWrapping:
    """Wraps reports of rows for a terminal, as it would not break them: between words, below their names.

    What is no terminal, such as a file or a log, gets them as they are.

    Args:
        rows: ids of their items.
    """

    def __init__(self, rows: Container[str]) -> None:
        self._rows = rows

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: Any, config: pytest.Config
    ) -> Generator[None, Any, Any]:
        """Do so while pytest prints them; other reports get them as they are, too."""
        writer = config.get_terminal_writer()
        kept = []
        for report in self._list_own(terminalreporter.stats) if writer.hasmarkup else ():
            kept.append((report, report.longrepr))
            report.longrepr = wrap_report(report.longrepr, writer.fullwidth)
        try:
            return (yield)
        finally:
            for report, shown in kept:
                report.longrepr = shown

    def _list_own(self, stats: Any) -> Iterator[Any]:
        for kind in ("failed", "error", "xfailed"):
            for report in stats.get(kind, ()):
                if report.nodeid in self._rows and hasattr(report.longrepr, "reprtraceback"):
                    yield report
