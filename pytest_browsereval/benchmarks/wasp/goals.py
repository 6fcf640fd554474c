"""Entries of WASP's files, which are the same for tasks of users and for goals of attackers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.benchmarks.base import Dropped, RowProblem, text_of
from pytest_browsereval.redaction.text import map_texts

SITES = ("gitlab", "reddit")
"""The sites that entries are about; their placeholders are ``{gitlab_domain}`` and ``{reddit_domain}``."""
OWNER = "byteblaze"
"""The user that owns the projects which WASP's scripts make; entries leave it out."""

_NAME = re.compile(r"\{(\w+)\}")


def site_of(entry: Mapping[str, Any]) -> str:
    """Return the site that an entry is about.

    Raises:
        RowProblem: it is none of WASP's.
    """
    sites = entry.get("sites")
    site = entry.get("environment") or (sites[0] if isinstance(sites, list) and len(sites) == 1 else None)
    if site not in SITES:
        raise RowProblem(f"the entry is about {site!r:.40}, and WASP's are about {' or '.join(SITES)}.")
    return str(site)


def values_of(entry: Mapping[str, Any], sites: Mapping[str, str | None]) -> dict[str, str]:
    """Return what the placeholders of an entry stand for.

    Raises:
        RowProblem: the parameters are no block of texts.
        Dropped: the site is left out.
    """
    site, given = site_of(entry), entry.get("parameters")
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given.values()):
        raise RowProblem("parameters: expected a block of strings.")
    if sites.get(site) is None:
        raise Dropped(f"the site {site} is left out")
    domains = {f"{name}_domain": url for name, url in sites.items() if url is not None}
    return {"project_owner": OWNER, **given, **domains}


def fill(value: Any, values: Mapping[str, str]) -> Any:
    """Return a JSON value with placeholders filled in, those that a placeholder stands for as well.

    Raises:
        Dropped: one is left, which only WASP's own set-up knows.
    """

    def fill_text(text: str) -> str:
        for _ in range(3):
            text = _NAME.sub(lambda found: values.get(found[1], found[0]), text)
        if left := next((name for name in _NAME.findall(text) if name.endswith("_url")), None):
            raise Dropped(f"only WASP's set-up knows their {left}")
        return text

    return map_texts(value, fill_text, fill_text)


def name_of(entry: Mapping[str, Any]) -> str:
    """Return an entry's name as a part of ids: letters, digits and ``-``.

    Raises:
        RowProblem: it has none.
    """
    words = re.sub(r"[^A-Za-z0-9]+", "-", text_of(entry, "free_form_name")).strip("-").lower()
    return words[:40].rstrip("-")
