"""The files of REAL in its package ``agisdk``: tasks and the scripts that score them, by version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.benchmarks.packages import folder_of
from pytest_browsereval.config_text import file_inside, read_text
from pytest_browsereval.config_text.json_text import json_value

PACKAGE = "agisdk"
VERSIONS = ("v1", "v2")
INSTALL = "pip install --no-deps agisdk"
"""What to type: its data is all that is read, so nothing that it depends on is needed."""

_CLONES = Path("REAL", "browsergym", "webclones")


def package_folder(given: Path | None, base_dir: Path) -> Path | None:
    """Return the folder of the package, None if it is not there.

    Args:
        given: the option ``package_dir``, relative to the config; None for the installed package.
        base_dir: the folder of the eval config.
    """
    folder = folder_of(PACKAGE) if given is None else (base_dir / given).absolute()
    return folder if folder is not None and (folder / _CLONES).is_dir() else None


def tasks_folder(version: str) -> str:
    """Return where in the package the folder with a JSON file for each task of a version is."""
    return str(_CLONES / version / "tasks")


def script_file(package: Path, name: str, version: str | None) -> Path | None:
    """Return the script of that name; None if no version has one.

    Args:
        package: the package's folder, which the script never lies outside of.
        name: the file's name, as a task gives it.
        version: which version to look in first.
    """
    # The other version too: rows do not always say which one they are from.
    ordered = sorted(VERSIONS, key=lambda known: known != version)
    files = (file_inside(package / _CLONES / known / "eval_scripts", name) for known in ordered)
    return next(filter(None, files), None)


def read_task(package: Path, version: str, task_id: str) -> Mapping[str, Any] | None:
    """Return a task of the package; None if there is none of that id."""
    file = file_inside(package / tasks_folder(version), f"{task_id}.json")
    task = None if file is None else json_value(read_text(file))
    return task if isinstance(task, Mapping) else None
