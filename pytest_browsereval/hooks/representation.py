"""Text of a bad row as pytest shows it, and its one-line form.

pytest's own exceptions come as such an object. A plain text has no ``reprcrash``: the short summary then says
no reason, and readers take the text's last line, or all of it, for the reason.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest


def _make_example() -> Any:
    """Return what pytest makes of an exception: the classes of such objects have no public name."""
    try:
        pytest.fail("an example")
    except pytest.fail.Exception as failed:
        return pytest.ExceptionInfo.from_exception(failed).getrepr(style="native")


_EXAMPLE = _make_example()
"""Made at import: pytest reads source for it, which must not happen while the loop's thread reads some."""


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
