"""Text of a bad row as pytest shows it, and its one-line form.

pytest's own exceptions come as such an object. A plain text has no ``reprcrash``: the short summary then says
no reason, and readers take the text's last line, or all of it, for the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _pytest._code.code import ReprExceptionInfo, ReprFileLocation, ReprTracebackNative


def represent(text: str, message: str, path: Path | str, line: int) -> Any:
    """Return what goes into a report's ``longrepr``.

    Args:
        text: the whole, as it is shown.
        message: the line that says why.
        path: file that it is about.
        line: of that file, from 1.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    return ReprExceptionInfo(
        reprtraceback=ReprTracebackNative(lines),
        reprcrash=ReprFileLocation(str(path), max(line, 1), message),
    )
