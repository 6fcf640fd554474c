"""Folders of runs by eval: refuses two evals that share one."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError


class Homes:
    """The folders that runs of this session go into, each with the eval that they are of."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}

    def claim(self, home: Path, owner: str) -> None:
        """Take a folder for an eval.

        Args:
            home: the folder above its runs.
            owner: its file, or its test, for messages; the same owner may ask again.

        Raises:
            UsageError: the folder is another eval's.
        """
        place = os.path.normcase(os.path.realpath(home))
        other = self._owners.setdefault(place, owner)
        if other != owner:
            raise UsageError(
                f"{other} and {owner} have one name and one output folder: both would write trials into "
                f"{format_path(home)}. Write another `name` or another `output_dir` into one of them."
            )
