"""Base of the importers of the WebArena family: sites that rows name, and their common keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pytest_browsereval.benchmarks.base import Dropped, list_of, text_of
from pytest_browsereval.benchmarks.own_sites import OwnSitesConfig, read_eval
from pytest_browsereval.benchmarks.packages import INSTALLED, find_rows
from pytest_browsereval.benchmarks.webarena.programs import PROGRAMS
from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.shared.row_source import Row

SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia", "homepage", "classifieds")
"""Sites that rows name, ``__SHOPPING__`` and so on."""

KEPT = (
    "require_login",
    "storage_state",
    "geolocation",
    "intent_template",
    "intent_template_id",
    "instantiation_dict",
)
"""Those that are kept of WebArena's rows; its descendants have more."""

_CALLED = re.compile(r"func:\s*(\w+)")
_BOTH = " |AND| "


class WebArenaRows(OwnSitesConfig):
    """Base of the importers of the WebArena family."""

    known_sites = SITES

    package: ClassVar[tuple[str, str, str]] = ("", "", "")
    """The package that has the rows: what pip calls it, its folder, the file in that; empty for none."""

    kept: ClassVar[tuple[str, ...]] = KEPT
    """Keys of rows that go to ``metadata.additional``."""

    path: Path = INSTALLED
    """The file; ``:installed``, the default, is that of the installed package, where there is one."""

    def file(self, base_dir: Path) -> Path:
        """Return the absolute path of the file.

        Raises:
            DatasetError: it is that of a package, which is not installed.
        """
        if self.path != INSTALLED:
            return super().file(base_dir)
        distribution, package, name = self.package
        if not package:
            raise DatasetError(f"dataset {self.type}: no package has the rows. Write `path: FILE.json`.")
        return find_rows(self.type, package, name, f"--no-deps {distribution}")

    def originals(self, path: Path) -> Sequence[Row]:
        """Return the rows, once all sites that they name are known.

        Raises:
            DocumentError: the file cannot be read, or a site is missing.
        """
        rows = super().originals(path)
        # Before the first row: otherwise agents would be sent to an address "__SHOPPING__".
        if missing := [name for name in self.find_sites([row for _, row in rows]) if name not in self.sites]:
            named = ", ".join(f"__{name.upper()}__" for name in missing)
            how = f"Write `sites: {{{missing[0]}: http://localhost:7770}}`, or null to leave its rows out"
            raise DocumentError(f"rows name sites whose addresses are not given: {named}. {how}.")
        return rows

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return how many rows need a login."""
        return self.note_logins(sum(bool(row["metadata"]["additional"].get("require_login")) for row in rows))

    # -- one row

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        row = self.row(original, text_of(original, "start_url"))
        return {**row, "graders": ["webarena"], "evals": [self.fill_addresses(evals_of(original))]}

    def row(self, original: Any, start: str) -> dict[str, Any]:
        """Return what rows of the whole family have.

        Args:
            original: the row as it is published.
            start: its start pages.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        number, query = text_of(original, "task_id"), text_of(original, "intent")
        sites = list_of(original, "sites", str)
        for name in (*sites, *self.find_sites(original)):
            if self.sites.get(name, "") is None:
                raise Dropped(f"the site {name} is left out")
        # Some tasks start with several tabs; the agent gets the first and the rest are kept.
        pages = [self.fill_addresses(page) for page in start.split(_BOTH)]
        more = self.fill_addresses({key: original.get(key) for key in self.kept})
        return {
            "query_id": f"{self.type}-{number}",
            "query": query,
            "start_url": pages[0],
            # By the names that the config has for them.
            "sites": list(dict.fromkeys(self.name_in_config(name) or name for name in sites)),
            "requires_reset": original.get("require_reset") is True,
            "tags": sites,
            "metadata": {
                "original_task_id": number,
                "website": "-".join(sites),
                "additional": {**more, "start_urls": pages if len(pages) > 1 else None},
            },
        }


def evals_of(original: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the block ``eval`` of a row.

    Raises:
        RowProblem: there is none with its ``eval_types``.
        Dropped: it calls a program, or compares pictures, as no grader here does.
    """
    block = read_eval(original)
    # Anywhere in the block: programs stand in addresses, locators and contents.
    called = _CALLED.findall(json.dumps(block))
    if unknown := next((name for name in called if name not in PROGRAMS), None):
        raise Dropped(f"they call the helper program {unknown}, which is not supported")
    if "eval_fuzzy_image_match" in json.dumps(block.get("page_image_query")):
        raise Dropped("they compare a picture of the page with one from the web")
    return block
