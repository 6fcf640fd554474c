"""``{name}`` in the words of a command, a prompt or a file: filled in once, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_browsereval.errors import nearest
from pytest_browsereval.redaction.text import map_texts

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}|(?<!\$)\{([A-Za-z_]\w*)\}")
"""``${NAME}`` is none: programs read it as a variable in their own files."""


def names_in(value: Any) -> Iterator[str]:
    """Return the placeholders in a text, or in all texts of a structure."""
    if isinstance(value, str):
        yield from (match[2] for match in _PLACEHOLDER.finditer(value) if match[2])
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from names_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from names_in(inner)


def check(value: Any, allowed: Iterable[str], where: str) -> None:
    """Refuse placeholders that nothing is filled in for.

    Raises:
        ValueError: with the nearest name, and how to write plain braces.
    """
    known = tuple(allowed)
    for name in names_in(value):
        if name not in known:
            raise ValueError(
                f"{where} has the placeholder {{{name}}}, which is unknown.{nearest(name, known)} "
                f"Known: {', '.join(f'{{{each}}}' for each in known)}; write {{{{{name}}}}} for plain braces."
            )


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return the value with its placeholders filled in; what is filled in is not looked at again."""

    def fill(text: str) -> str:
        # In one pass: a task that holds braces is not a place to fill in.
        return _PLACEHOLDER.sub(lambda match: f"{{{match[1]}}}" if match[1] else values[match[2]], text)

    return map_texts(value, fill)
