"""Refuse graders of a row that start programs, hold keys or ask hosts of their own: rows are downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic import SecretStr

from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import unfold, walk_options
from pytest_browsereval.graders.values import show
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ask_needs

# What an address of a site begins with; `{shop}.evil.test` and `{shop}@evil.test` are elsewhere.
_IN_A_SITE = re.compile(r"\{[A-Za-z_]\w*\}(?![^/?#])", re.ASCII)


def check_trust(graders: Iterable[GraderConfig], task: Task, site_urls: Mapping[str, str]) -> None:
    """Refuse graders that only rows of a trusted dataset may have.

    Args:
        graders: that the row brings.
        task: the row.
        site_urls: base URLs of sites that were filled in; empty where placeholders still stand.

    Raises:
        ValueError: with what to write.
    """
    for grader in graders:
        if found := find_trust_needs(grader, task, site_urls):
            raise ValueError(
                f"the grader {grader.label!r} of the row {' and '.join(found)}. Rows often come from "
                "elsewhere: only those of a trusted dataset may do that. Write the grader into the config "
                "(graders: [...]), or read the rows and write `trusted: true` in the block of their dataset, "
                "such as `dataset: [{path: rows.jsonl, trusted: true}]`."
            )


def find_trust_needs(grader: GraderConfig, task: Task, site_urls: Mapping[str, str]) -> list[str]:
    """Return what a grader does that needs a trusted dataset, those inside of it included.

    Args:
        grader: of a row.
        task: the row.
        site_urls: base URLs of sites that were filled in.
    """
    found: list[str] = []
    for one in unfold(grader):
        needs = ask_needs(one, task)
        found += needs.trust
        for address in needs.addresses:
            if not _is_in_a_site(address, site_urls):
                found.append(f"contacts {_describe_host(address)}, which is not one of the sites")
        for name, value in walk_options(one):
            if isinstance(value, LLMConfig):
                found.append(f"asks a model of its own (`{name}`)")
            elif isinstance(value, SecretStr):
                found.append(f"contains a key (`{name}`)")
    return list(dict.fromkeys(found))


def _is_in_a_site(address: str, site_urls: Mapping[str, str]) -> bool:
    if _IN_A_SITE.match(address):
        return True
    # Where the placeholders are filled in already, an address of a site begins with its base URL.
    bases = [url.rstrip("/") for url in site_urls.values()]
    # http://127.0.0.1:80 is a prefix of http://127.0.0.1:8000, which is another server.
    return any(address.startswith(url) and address[len(url) :][:1] in ("", *"/?#") for url in bases if url)


def _describe_host(address: str) -> str:
    """Return scheme, host and port; the rest of an address may be a secret."""
    try:
        return show(origin_of(address))
    except ValueError:
        return "an address"
