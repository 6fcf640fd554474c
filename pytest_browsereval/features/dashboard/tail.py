"""Follows growing files of a run, line by line."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.run_files import open_written

# Read at once; the rest of a large file waits for the next look, so that one log does not hold up the
# others.
MOST_BYTES = 4 << 20

# Characters of a text in an event; the page of the attempt has all.
LONGEST_TEXT = 400

# Parts of a list or an object in an event.
MOST_PARTS = 12

MOST_LEVELS = 4


@dataclass(slots=True)
class Tail:
    """The end of a file with a JSON object in each line.

    Args:
        file: where it is; it need not be there yet.
    """

    file: str
    read: int = 0
    """Bytes that were read."""

    def more(self) -> list[dict[str, Any]]:
        """Return what was added; a line that is being written is left for the next time.

        A line that is not an object is returned as one of the type *damaged*.
        """
        try:
            with open_written(self.file) as file:
                file.seek(self.read)
                fresh = file.read(MOST_BYTES)
        except OSError:
            return []
        whole = fresh[: fresh.rfind(b"\n") + 1]
        if not whole and len(fresh) == MOST_BYTES:  # a line as long as that is of no use to anybody
            whole = fresh
        self.read += len(whole)
        return [_parse(line) for line in whole.split(b"\n") if line]


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    return {"type": "damaged", "content": line[:LONGEST_TEXT].decode("utf-8", "replace")}


def shorten_value(value: Any, levels: int = MOST_LEVELS) -> Any:
    """Return a value with short texts, lists and objects."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + "…"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # which no page can read as a number
    if isinstance(value, dict | list) and not levels:
        return "…"
    if isinstance(value, dict):
        some = list(value.items())[:MOST_PARTS]
        return {key[:LONGEST_TEXT]: shorten_value(one, levels - 1) for key, one in some}
    if isinstance(value, list):
        return [shorten_value(one, levels - 1) for one in value[:MOST_PARTS]]
    return value
