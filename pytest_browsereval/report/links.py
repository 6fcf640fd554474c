"""Where a run and its attempts are shown, and where a page can be."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_browsereval.errors import UsageError

# The viewer of a run, in its folder.
PAGE = "index.html"


def page_of(attempt: Path) -> str:
    """Return the address of an attempt in the page of its run: the file, ``#/`` and the attempt's path.

    Args:
        attempt: its folder, in that of a run.
    """
    tasks = attempt.parents[3]
    return f"{(tasks.parent / PAGE).as_posix()}#/{attempt.relative_to(tasks).as_posix()}"


def check_page(target: Path) -> None:
    """Check that a page can be there.

    Raises:
        UsageError: it cannot.
    """
    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{target} is not a page: name a file that ends in .html.")
    if target.is_dir():
        raise UsageError(f"{target} is a folder: name a file in it.")
    if not target.parent.is_dir():
        raise UsageError(f"{target}: the folder {target.parent} does not exist. Make it first.")


def way_from(target: Path, run: Path) -> str:
    """Return the path from the page to the run, with slashes; empty if it lies in it.

    Raises:
        UsageError: they lie on different drives of Windows.
    """
    try:
        way = os.path.relpath(run.resolve(), target.parent.resolve())
    except ValueError:
        raise UsageError(f"{target} is not on the drive of the run: pictures could not be shown.") from None
    return "" if way == os.curdir else Path(way).as_posix()
