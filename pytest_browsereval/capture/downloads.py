"""What an attempt has downloaded: ``downloads/`` with the files, ``downloads.jsonl`` with a line for each."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from pytest_browsereval.run_files import parse_lines, read_written

DOWNLOADS = "downloads"
"""The folder in that of the attempt."""
INDEX = "downloads.jsonl"


class Download(BaseModel):
    """A file that a page has downloaded."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    name: str
    """The name that it is kept under, in the folder ``downloads`` of the attempt."""
    suggested_name: str = ""
    """As the page names it."""
    url: str = ""
    size_bytes: int | None = Field(default=None, ge=0)
    """None where the download has failed."""
    problem: str = ""
    """Why it is not kept; empty if it is."""


def list_downloads(folder: Path) -> list[Download]:
    """Return the downloads of an attempt, in the order in which they ended.

    Args:
        folder: of the attempt.
    """
    try:
        lines = read_written(folder / INDEX)
    except OSError:
        return []
    found = parse_lines(lines, Download.model_validate)
    return [one for one in found if one.name == Path(one.name).name not in ("", "..")]
