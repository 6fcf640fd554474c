"""Mind2Web, the original: recorded steps on saved pages, which make no live benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.benchmarks.base import BenchmarkConfig, RowProblem, read_rows, text_of
from pytest_browsereval.benchmarks.originals import address
from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.features.shared.row_source import Row

TAG = "not-live"

# Of each action: megabytes of a page as it once was.
_PAGES = ("raw_html", "cleaned_html", "pos_candidates", "neg_candidates")


class Mind2WebConfig(BenchmarkConfig):
    """Reads Mind2Web's JSON: one file, or all ``*.json`` of a folder in the order of their names."""

    type: Literal["mind2web"] = "mind2web"
    title = "Mind2Web"

    start_urls: dict[str, str] = Field(default_factory=dict)
    """Start pages by ``website``: the rows hold names such as ``united``. A row without one opens an empty
    page."""

    def originals(self, path: Path) -> Sequence[Row]:
        """Return the original rows, each with the name of its file.

        Raises:
            DocumentError: a file cannot be read.
        """
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise DocumentError("the folder has no *.json files.")
        rows: list[Row] = []
        for file in files:
            try:
                rows += [(line, (file.name, row)) for line, row in read_rows(file)]
            except DocumentError as error:
                line = f":{error.line}" if error.line else ""
                raise DocumentError(f"{file.name}{line}: {error}") from None
        return rows

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task; pages are left out of what is kept of the original.

        Raises:
            RowProblem: a key is missing or wrong.
        """
        name, row = original
        try:
            return self._convert(row)
        except RowProblem as error:
            raise RowProblem(f"{name}: {error}") from None

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return that its scores are not those of the benchmark."""
        message = (
            "Mind2Web is scored on saved pages, step by step; here its tasks run on the live sites, and "
            "that is another benchmark."
        )
        return (*super().notes(base_dir), message)

    def _convert(self, row: Any) -> dict[str, Any]:
        website = text_of(row, "website")
        actions = row.get("actions") or []
        if not isinstance(actions, list) or not all(isinstance(action, Mapping) for action in actions):
            raise RowProblem("actions: expected a list of blocks.")
        kept = [{key: value for key, value in action.items() if key not in _PAGES} for action in actions]
        groups = {key: text_of(row, key, default="") for key in ("domain", "subdomain")}
        # Rows hold bare names such as "united", which could be any address.
        named = (text for text in (website, groups["domain"]) if "." in text and " " not in text)
        page = self.start_urls.get(website, next(named, None))
        return {
            "query_id": text_of(row, "annotation_id"),
            "query": text_of(row, "confirmed_task"),
            "start_url": None if page is None else address(page),
            "graders": ["mind2web"],
            "tags": [TAG, *groups.values()],
            "metadata": {
                "website": website,
                "category": groups["domain"],
                "additional": {**groups, "action_reprs": row.get("action_reprs") or []},
                "source": {**row, "actions": kept},
            },
        }
