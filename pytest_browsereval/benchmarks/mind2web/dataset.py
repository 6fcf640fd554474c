"""Mind2Web, the original: recorded steps on saved pages, which make no live benchmark."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.benchmarks.base import BenchmarkConfig, list_of, text_of
from pytest_browsereval.benchmarks.originals import address

TAG = "not-live"

# Of each action: megabytes of a page as it once was.
_PAGES = ("raw_html", "cleaned_html", "pos_candidates", "neg_candidates")


class Mind2WebConfig(BenchmarkConfig):
    """Reads one JSON file of Mind2Web."""

    type: Literal["mind2web"] = "mind2web"
    title = "Mind2Web"

    start_urls: dict[str, str] = Field(default_factory=dict)
    """Start pages by ``website``: the rows hold names such as ``united``. A row without one opens an empty
    page."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task; pages are left out of what is kept of the original.

        Raises:
            RowProblem: a key is missing or wrong.
        """
        website = text_of(original, "website")
        actions = list_of(original, "actions", dict)
        kept = [{key: value for key, value in action.items() if key not in _PAGES} for action in actions]
        groups = {key: text_of(original, key, default="") for key in ("domain", "subdomain")}
        # Rows hold bare names such as "united", which could be any address.
        named = (text for text in (website, groups["domain"]) if "." in text and " " not in text)
        page = self.start_urls.get(website, next(named, None))
        return {
            "query_id": text_of(original, "annotation_id"),
            "query": text_of(original, "confirmed_task"),
            "start_url": None if page is None else address(page),
            "graders": ["mind2web"],
            "tags": [TAG, *groups.values()],
            "metadata": {
                "website": website,
                "category": groups["domain"],
                "additional": {**groups, "action_reprs": original.get("action_reprs") or []},
                "source": {**original, "actions": kept},
            },
        }

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return that its scores are not those of the benchmark."""
        del rows
        return ["Mind2Web is scored on saved pages; its tasks on the live sites are a different benchmark."]
