"""TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date, time
from typing import Any

from pytest_browsereval.config_text.base import Document, DocumentError, KeyPath
from pytest_browsereval.redaction.text import map_leaves


def parse_toml(text: str) -> Document:
    """Return the document of a TOML text; its lines are found by the last key's name.

    Raises:
        DocumentError: it is not TOML.
    """
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+)", str(error))
        said = re.sub(r" \(at .*\)$", "", str(error))
        raise DocumentError(f"not TOML: {said}.", int(where[1]) if where else None) from None
    except RecursionError:
        raise DocumentError("not readable: nested too deeply.") from None
    return Document(map_leaves(value, _without_date), lambda path: _toml_line(text, path))


def _without_date(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | time) else value


def _toml_line(text: str, path: KeyPath) -> int | None:
    keys = [part for part in path if isinstance(part, str)]
    lines = text.splitlines()
    for depth in range(len(keys), 0, -1):
        for number in _toml_matches(lines, keys[:depth]):
            return number
    return 1 if lines else None


def _toml_matches(lines: Sequence[str], keys: Sequence[str]) -> Iterator[int]:
    table: list[str] = []
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            table = _toml_keys(header[1])
            if table == list(keys):
                yield number
        elif (assignment := re.match(r"\s*([^=#]+?)\s*=", line)) and [
            *table,
            *_toml_keys(assignment[1]),
        ] == list(keys):
            yield number


def _toml_keys(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]
