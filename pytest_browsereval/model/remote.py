"""The runs at a URL, as those see them who list them: a feature that knows such a URL opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class PartsThere:
    """What is there of a run at a URL; one that is not divided is the first part of one."""

    of: int
    """Into how many parts it was divided; 0 if nothing of a run is there."""
    done: Mapping[int, str]
    """Where the files of the try are that counts, below the URL, by the part's number."""
    begun_at: str = ""
    """When the first claim was made, with a time zone; empty if nobody knows."""


class RemoteRuns(Protocol):
    """The folder of all runs at a URL. What cannot be done raises ``UsageError``."""

    url: str

    def list_runs(self) -> list[str]:
        """Return what is there of each eval: ``EVAL/NAME`` of its runs."""

    def find_parts(self, run: str) -> PartsThere:
        """Return what is there of a run."""

    def save(self, paths: Mapping[str, Path]) -> None:
        """Write objects into files, several at once; no file for one that is not there."""

    def write(self, path: str, content: bytes) -> None:
        """Write an object, or write it anew."""
