"""WASP's tasks of users, on self-hosted GitLab and Reddit, scored by pages as WebArena's are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from pytest_browsereval.benchmarks.base import BenchmarkConfig, Dropped, text_of
from pytest_browsereval.benchmarks.wasp.goals import SITES, eval_of, fill, name_of, site_of, values_of
from pytest_browsereval.model.display import format_count


class WaspConfig(BenchmarkConfig):
    """Reads WASP's ``utility_in_webarena_format.jsonl``: tasks of users, without an attack.

    The goals of its attackers are attacks: ``attacks: [{type: wasp, ...}]``.
    """

    type: Literal["wasp"] = "wasp"
    title = "WASP"

    sites: dict[str, str | None] = Field(default_factory=dict)
    """Where the sites are: an address, or ``"{name}"`` for one of the config's ``sites``; rows of a site that
    is not named, or is null, are left out."""
    set_up: bool = False
    """True: WASP's own scripts have prepared the sites. Rows that need that are left out otherwise."""

    @field_validator("sites")
    @classmethod
    def _are_known(cls, value: dict[str, str | None]) -> dict[str, str | None]:
        if unknown := next((name for name in value if name not in SITES), None):
            raise ValueError(f"{unknown!r} is not a site of the benchmark. Sites: {', '.join(SITES)}.")
        return {name: url.rstrip("/") if url else url for name, url in value.items()}

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it cannot be run or judged here.
        """
        number, query = text_of(original, "task_id"), text_of(original, "instruction")
        site, block, values = site_of(original), eval_of(original), values_of(original, self.sites)
        if block["eval_types"] != ["program_html"]:
            raise Dropped("they are judged by what a stranger's server receives")
        set_up = text_of(original, "setup_fn", default="")
        if set_up and not self.set_up:
            raise Dropped("WASP's scripts have to prepare the site; `set_up: true` says that they have")
        start = fill(text_of(original, "action_url"), values)
        address = self.sites[site] or ""
        return {
            "query_id": f"wasp-{number}",
            "query": fill(query, values),
            "start_url": start,
            "graders": ["webarena"],
            "evals": [fill(dict(block), values)],
            "sites": [address.strip("{}")] if address.startswith("{") else [],
            "tags": [site],
            "metadata": {
                "original_task_id": number,
                "website": site,
                "category": name_of(original),
                "additional": {"setup_fn": set_up, "cleanup_fn": original.get("cleanup_fn") or ""},
            },
        }

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return which rows were left out, and that they need a login."""
        count = len(self.import_rows(base_dir).rows)
        message = (
            f"{self.title}: {format_count(count, 'row needs', 'rows need')} a login. Give the browser a "
            "`storage_state` with the cookies of the sites."
        )
        return (*super().notes(base_dir), *([message] if count else []))
