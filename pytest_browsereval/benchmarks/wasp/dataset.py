"""WASP's tasks of users, on self-hosted GitLab and Reddit, scored by pages as WebArena's are."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.base import Dropped, text_of
from pytest_browsereval.benchmarks.own_sites import OwnSitesConfig, read_eval
from pytest_browsereval.benchmarks.wasp.goals import SITES, fill, name_of, site_of, values_of


class WaspConfig(OwnSitesConfig):
    """Reads WASP's ``utility_in_webarena_format.jsonl``: tasks of users, without an attack.

    The goals of its attackers are attacks: ``attacks: [{type: wasp, ...}]``. Rows of a site that ``sites``
    does not name are left out.
    """

    known_sites = SITES

    type: Literal["wasp"] = "wasp"
    title = "WASP"

    set_up: bool = False
    """True: WASP's own scripts have prepared the sites. Rows that need that are left out otherwise."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it cannot be run or judged here.
        """
        number, query = text_of(original, "task_id"), text_of(original, "instruction")
        site, block, values = site_of(original), read_eval(original), values_of(original, self.sites)
        if block["eval_types"] != ["program_html"]:
            raise Dropped("they are judged by what a stranger's server receives")
        set_up = text_of(original, "setup_fn", default="")
        if set_up and not self.set_up:
            raise Dropped("WASP's scripts have to prepare the site; `set_up: true` says that they have")
        start = fill(text_of(original, "action_url"), values)
        return {
            "query_id": f"wasp-{number}",
            "query": fill(query, values),
            "start_url": start,
            "graders": ["webarena"],
            "evals": [fill(dict(block), values)],
            "sites": [name] if (name := self.name_in_config(site)) else [],
            "tags": [site],
            "metadata": {
                "original_task_id": number,
                "website": site,
                "category": name_of(original),
                "additional": {"setup_fn": set_up, "cleanup_fn": original.get("cleanup_fn") or ""},
            },
        }

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return that the rows need a login."""
        return self.note_logins(len(rows))
