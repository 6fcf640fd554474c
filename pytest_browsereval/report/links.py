"""Where a run and its attempts are shown."""

from __future__ import annotations

from pathlib import Path

# The viewer of a run, in its folder.
PAGE = "index.html"


def page_of(attempt: Path) -> str:
    """Return the address of an attempt in the page of its run: the file, ``#/`` and the attempt's path.

    Args:
        attempt: its folder, in that of a run.
    """
    tasks = attempt.parents[3]
    return f"{(tasks.parent / PAGE).as_posix()}#/{attempt.relative_to(tasks).as_posix()}"
