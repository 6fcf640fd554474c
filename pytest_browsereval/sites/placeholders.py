"""The ``{name}`` placeholders with which rows point at sites whose port is not known beforehand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def names_in(text: str) -> set[str]:
    """Return every ``name`` that stands in braces in the text, whether or not it is a site."""
    return set(_PLACEHOLDER.findall(text))


def fill(value: Any, urls: Mapping[str, str]) -> Any:
    """Return the value with ``{name}`` replaced by the site's base URL, in strings at any depth.

    Braces around anything but the name of a site stay as they are, so do keys of mappings.

    Args:
        value: a JSON value; other kinds of values are returned untouched.
        urls: base URLs by the name of the site.
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: urls.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {key: fill(inner, urls) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(fill(inner, urls) for inner in value)
    return value
