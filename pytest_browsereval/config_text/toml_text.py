"""TOML with line numbers."""

from __future__ import annotations

import re
import tomllib
from datetime import date, time
from typing import Any

from pytest_browsereval.config_text.base import Document, DocumentError, KeyPath, find_line
from pytest_browsereval.redaction.text import map_leaves


def parse_toml(text: str) -> Document:
    """Return the document of a TOML text.

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

    def line_of(path: KeyPath) -> int | None:
        return find_line(_find_lines(text), tuple(part for part in path if isinstance(part, str)))

    return Document(map_leaves(value, _without_date), line_of)


def _without_date(value: Any) -> Any:
    # All formats give plain JSON values, so a date is a text here as in YAML.
    return value.isoformat() if isinstance(value, date | time) else value


def _find_lines(text: str) -> dict[KeyPath, int]:
    """Return the lines of tables and keys; of several with the same name, the first."""
    # `tomllib` has no positions: https://docs.python.org/3/library/tomllib.html
    lines: dict[KeyPath, int] = {(): 1}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            table = _split_keys(header[1])
            lines.setdefault(table, number)
        elif assignment := re.match(r"\s*([^=#]+?)\s*=", line):
            lines.setdefault((*table, *_split_keys(assignment[1])), number)
    return lines


def _split_keys(dotted: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
