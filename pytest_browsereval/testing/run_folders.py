"""Writes down which run folders a session has summed up, for the eval driver: they may lie anywhere."""

from __future__ import annotations

import os
from pathlib import Path

# The environment variable that names the file with the folders, one in each line.
FILE = "BROWSEREVAL_RUN_FOLDERS"


def pytest_browsereval_run_summary(run_folder: Path) -> None:
    """Add a folder to the file."""
    with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
        file.write(f"{run_folder}\n")
