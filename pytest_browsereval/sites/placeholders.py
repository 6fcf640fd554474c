"""The ``{name}`` placeholders with which rows point at sites whose port is not known beforehand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pytest_browsereval.redaction.text import map_texts

_ADDRESSES = ("url", "start_url", "visited")

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def names_in(text: str) -> set[str]:
    """Return every ``name`` that stands in braces in the text, whether or not it is a site."""
    return set(_PLACEHOLDER.findall(text))


def unknown_sites(value: Any, sites: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the addresses that begin with a name in braces which is not a site, each with that name.

    An address is what a mapping has under ``url``, ``start_url`` or ``visited``, at any depth.

    Args:
        value: a JSON value.
        sites: names of the sites.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            found = _PLACEHOLDER.match(inner) if key in _ADDRESSES and isinstance(inner, str) else None
            if found is not None and found[1] not in sites:
                yield inner, found[1]
            yield from unknown_sites(inner, sites)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from unknown_sites(inner, sites)


def fill(value: Any, urls: Mapping[str, str]) -> Any:
    """Return the value with ``{name}`` replaced by the site's base URL, in strings at any depth.

    Braces around anything but the name of a site stay as they are, so do keys of mappings.

    Args:
        value: a JSON value; other kinds of values are returned untouched.
        urls: base URLs by the name of the site.
    """
    return map_texts(value, lambda text: _PLACEHOLDER.sub(lambda found: urls.get(found[1], found[0]), text))
