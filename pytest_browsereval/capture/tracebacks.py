"""The traceback of what an agent's, a grader's or a plug-in's code raised, as it is kept with an attempt."""

from __future__ import annotations

import os
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

import pytest_browsereval
from pytest_browsereval.errors import BrowserEvalError, ErrorSource, Fault
from pytest_browsereval.redaction.known import beginning, ending

TRACEBACK = "traceback"
"""Its key among the details of an error or a grade."""
LONGEST = 20_000
"""Characters that are kept: of more the beginning and the end."""

_OF_CODE = (ErrorSource.AGENT, ErrorSource.GRADER, ErrorSource.TOOL, ErrorSource.HARNESS, ErrorSource.UNKNOWN)

_STDLIB = f"{sysconfig.get_path('stdlib')}{os.sep}"
_OURS = f"{Path(pytest_browsereval.__file__).parent}{os.sep}"
_HOOKS = f"{os.sep}pluggy{os.sep}"
"""In the path of what calls hooks."""
_PACKAGES = f"{os.sep}site-packages{os.sep}"

_PLACE = re.compile(r'^ +File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_MARKS = re.compile(r"^ +[~^]+ *$")
_HEADS = ("Traceback (most recent call last):", "")


def details_of(error: BaseException) -> dict[str, JsonValue] | None:
    """Return what is kept of an exception in addition to its message: the traceback of someone's own code.

    Args:
        error: the exception. What browser, site and provider do is not the fault of code.
    """
    text = traceback_of(error) if not isinstance(error, Fault) or error.source in _OF_CODE else ""
    return {TRACEBACK: text} if text else None


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an exception without the calls that lead to the user's code.

    Of a fault it is that of what caused it. Empty for what is raised on purpose: its message says it all.

    Args:
        error: the exception.
    """
    cause: BaseException | None = error
    while isinstance(cause, Fault):
        cause = cause.__cause__
    if cause is None or isinstance(cause, BrowserEvalError):
        return ""
    found = traceback.TracebackException.from_exception(cause)
    for one in _chain(found, set()):
        one.stack = _own(one.stack)
    text = "".join(found.format())
    if len(text) > LONGEST:
        left_out = f"[{len(text) - LONGEST:,} characters left out]"
        text = f"{beginning(text, LONGEST // 2)}\n{left_out}\n{ending(text, LONGEST // 2)}"
    return text


def _chain(found: traceback.TracebackException, seen: set[int]) -> Iterator[traceback.TracebackException]:
    # `__context__` may lead round in a ring.
    if id(found) in seen:
        return
    seen.add(id(found))
    yield found
    for other in (found.__cause__, found.__context__, *(found.exceptions or ())):
        if other is not None:
            yield from _chain(other, seen)


def _own(stack: traceback.StackSummary) -> traceback.StackSummary:
    """Return the frames from the first one that is not a caller's; all of them if there is none.

    Without columns, for which Python parses the line: two threads that parse at once break each other in
    Python 3.11, and pytest parses in its own.
    """
    first = next((place for place, frame in enumerate(stack) if not _is_caller(frame.filename)), 0)
    return traceback.StackSummary.from_list(
        [traceback.FrameSummary(one.filename, one.lineno, one.name, line=one.line) for one in stack[first:]]
    )


def _is_caller(file: str) -> bool:
    """Whether code of a file calls the user's code and is none of it."""
    is_python = file.startswith(_STDLIB) and _PACKAGES not in file
    return is_python or file.startswith(("<frozen", _OURS)) or _HOOKS in file


def shorten(text: str, base: Path) -> Iterator[str]:
    """Yield a traceback in pytest's short style: each place with its code, the exception after an ``E``.

    Args:
        text: as it is kept.
        base: folder that files are shown relative to.
    """
    is_code = False
    for line in text.splitlines():
        if match := _PLACE.match(line):
            function = f"in {match['function']}" if match["function"] else ""
            yield f"{_shorten_path(match['file'], base)}:{match['line']}: {function}".rstrip(": ")
            is_code = True
        elif is_code and line.startswith("    "):
            if not _MARKS.match(line):
                yield line
        elif line not in _HEADS:
            is_code = False
            yield line if line.endswith(":") and line.startswith(("The above", "During")) else f"E   {line}"


def place_in(text: str) -> tuple[str, int] | None:
    """Return file and line of the last place of a traceback in the user's code; None if there is none."""
    places = [(match["file"], int(match["line"])) for match in map(_PLACE.match, text.splitlines()) if match]
    own = [(file, line) for file, line in places if not _is_caller(file) and _PACKAGES not in file]
    return own[-1] if own else None


def tracebacks(details: Iterable[dict[str, JsonValue] | None]) -> list[str]:
    """Return the tracebacks among details of errors or grades."""
    found = [(one or {}).get(TRACEBACK) for one in details]
    return [text for text in found if isinstance(text, str) and text]


def _shorten_path(file: str, base: Path) -> str:
    path = Path(file)
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else file
