"""Redacts secrets of evals in what pytest itself shows.

Tracebacks with the values of variables, what children print, warnings: pytest has none of it from us. Reports
are made in the process that runs a test, so that neither JUnit, HTML nor a controller gets to see more.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import logging
import sys
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.redaction.known import redact_known


def redact_parts(value: Any) -> Any:
    """Return what pytest shows without secrets; its own objects are changed in place.

    Args:
        value: a text, something that pytest prints itself, or several in lists, tuples and dicts.
    """
    if isinstance(value, str):
        return redact_known(value)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(redact_parts, value))
    if type(value) is dict:
        return {redact_parts(key): redact_parts(inner) for key, inner in value.items()}
    if hasattr(value, "toterminal"):  # what pytest prints itself
        for name, inner in vars(value).items():
            setattr(value, name, redact_parts(inner))
    return value


@contextlib.contextmanager
def usage_errors(prefix: str = "") -> Iterator[None]:
    """Turn our ``UsageError`` that is raised within into pytest's, which is printed without a traceback.

    Args:
        prefix: what the message begins with.
    """
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(redact_known(f"{prefix}{error}")) from None


@contextlib.contextmanager
def safe_output() -> Iterator[None]:
    """Have what the code of others prints shown when it is over, without secrets."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        sys.stdout.write(redact_known(out.getvalue()))
        sys.stderr.write(redact_known(err.getvalue()))


class SafeFormatter(logging.Formatter):
    """Formats as another formatter does, without secrets.

    Args:
        inner: the other one.
    """

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self.inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or lines, of a record."""
        return redact_known(self.inner.format(record))


class SafeReports:
    """Takes secrets out of what pytest makes of tests."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Redact the live log and the log file, which are there by now."""
        plugin: Any = session.config.pluginmanager.get_plugin("logging-plugin")
        for name in ("log_cli_handler", "log_file_handler"):
            handler = getattr(plugin, name, None)
            if isinstance(handler, logging.Handler) and not isinstance(handler.formatter, SafeFormatter):
                handler.setFormatter(SafeFormatter(handler.formatter))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Redact a test's report: what it failed by, what was captured, and what others have added."""
        report: Any = yield
        for name in ("longrepr", "sections", "user_properties", "wasxfail"):
            if (value := getattr(report, name, None)) is not None:
                setattr(report, name, redact_parts(value))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Redact a warning before anybody shows it, and the line of code that is shown with it."""
        text = str(warning_message.message)
        if (safe := redact_known(text)) != text:
            warning_message.message = safe
        line = linecache.getline(warning_message.filename, warning_message.lineno)
        if (safe := redact_known(line)) != line:
            warning_message.line = safe

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any) -> None:
        """Redact the traceback of an error of pytest or of a plug-in."""
        redact_parts(excrepr)
