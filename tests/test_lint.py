"""The linters are tests: ruff and mypy --strict find nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = {
    "ruff check": ["ruff", "check", "--no-cache", "."],
    "ruff format": ["ruff", "format", "--no-cache", "--check", "."],
    "mypy": ["mypy"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_linter_finds_nothing(command: str) -> None:
    """The whole repository is clean under the settings of ``pyproject.toml``."""
    done = subprocess.run(
        [sys.executable, "-m", *COMMANDS[command]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
