"""Rules about the row itself: its addresses, values that must not be there, texts that are too short."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_browsereval.datasets.rows import TYPE_BY_SUFFIX
from pytest_browsereval.features.doctor.lint.base import Finding, Given, Row
from pytest_browsereval.sites import names_in, unknown_sites

SHORT = 2
"""An expected text of so few characters is found on almost any page."""

_MARK = re.compile(r"__[A-Z][A-Z0-9_]*?__")
_PORT = re.compile(r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):(\d{2,5})\b")


def missing_start_url(row: Row, _: Given) -> Iterator[Finding]:
    """Find rows that begin on an empty page."""
    if row.task.start_url is None and not re.search(r"https?://", row.task.query):
        message = "it has no start page, and the goal names no address: the window opens empty."
        yield row.warning("missing-start-url", message, 'Write a "start_url".')


def unresolved_placeholder(row: Row, given: Given) -> Iterator[Finding]:
    """Find marks of a benchmark that were not filled in, and braces around unknown sites."""
    task = row.task
    texts = {"start_url": task.start_url or "", "query": task.query}
    texts |= {f"checks.{place}": str(check) for place, check in enumerate(task.checks)}
    for key, text in texts.items():
        if found := _MARK.search(text):
            message = f"{key} has {found[0]!r}, which was not filled in."
            yield row.error("unresolved-placeholder", message, "Put the site's address there.")
    refused = {name for _, name in unknown_sites({"start_url": task.start_url}, given.config.sites)}
    for name in sorted(names_in(task.start_url or "") - set(given.config.sites) - refused):
        message = f"start_url has {{{name}}}, which is not replaced: the config has no site with that name."
        yield row.warning("unresolved-placeholder", message, "If a site is meant, add it to the key `sites`.")


def baked_port(row: Row, _: Given) -> Iterator[Finding]:
    """Find the port of an app in the row: another program may listen there."""
    task = row.task
    texts = {"start_url": task.start_url or "", "query": task.query, "checks": str(task.checks)}
    advice = "Run the app as a site of the config (`sites`), and write its name in braces."
    for key, text in texts.items():
        if found := _PORT.search(text):
            yield row.warning("baked-port", f"{key} has the address {found[0]!r}.", advice)


def plain_gold(row: Row, _: Given) -> Iterator[Finding]:
    """Find answers of a protected row that stand in the file in clear."""
    is_plain = row.dataset.type in set(TYPE_BY_SUFFIX.values())
    if is_plain and row.task.protected and (row.task.answer is not None or row.task.metadata.source):
        advice = "Import the benchmark's own encrypted file, and never publish this one."
        yield row.error("plain-gold", "it is protected, but its answer is in plain text.", advice)


def underspecified_answer(row: Row, _: Given) -> Iterator[Finding]:
    """Find expected texts that other texts hold by chance."""
    is_loose = any(getattr(g, "match", "") == "includes" for g in row.graders)
    for key, text in row.expectations():
        is_contained = key.endswith((".contains", ".text")) or (key.startswith("answer") and is_loose)
        if is_contained and len(text.strip()) <= SHORT:
            yield row.warning(
                "underspecified-answer",
                f"{key}: {row.quote(text)} is so short that wrong answers hold it too.",
                "Expect more of the text, or compare numbers (match: number) or the whole (match: exact).",
            )


RULES = (missing_start_url, unresolved_placeholder, baked_port, plain_gold, underspecified_answer)
