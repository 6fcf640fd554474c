"""What the console of an attempt holds."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_browsereval.capture.recording import CONSOLE_FILE


def read_console(folder: Path) -> list[Any]:
    """Return the lines of a console; nothing where there is no file."""
    file = folder / CONSOLE_FILE
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return [SimpleNamespace(**{"tab": None, "cut": None, **json.loads(line)}) for line in lines]
