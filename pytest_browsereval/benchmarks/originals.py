"""Readers that several importers share: addresses and rubrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pytest_browsereval.benchmarks.base import RowProblem
from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.redaction.known import beginning


def host_of(url: str) -> str:
    """Return the host of an address without ``www.``; the text itself if it is not an address."""
    try:
        return (urlsplit(url).hostname or url).removeprefix("www.")
    except ValueError:
        return url


def address(text: str) -> str:
    """Return an address with its scheme, which some files leave out.

    Raises:
        RowProblem: it is not an address.
    """
    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", url)
    except ValueError:
        is_one = False
    if not is_one:
        raise RowProblem(
            f"{beginning(text, 80)!r} is not the address of a page. Write one such as `https://example.com/`."
        )
    return url


def rubric_of(value: Any) -> dict[str, Any]:
    """Return a rubric as a block of one of the forms that the graders of rubrics read, and check.

    The value may be JSON text, a list of items, or such a block.

    Raises:
        RowProblem: it has another form.
    """
    if isinstance(value, str):
        try:
            value = json_value(value)
        except DocumentError as error:
            raise RowProblem(f"the rubric is text, and {error}") from None
    if isinstance(value, list):
        value = {"items": value}
    if not isinstance(value, Mapping) or not value:
        raise RowProblem(f"a rubric is a block with items, not {beginning(str(value), 60)!r}.")
    return dict(value)
