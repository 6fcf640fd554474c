"""Keys of a record that tables, JUnit files and the page of an attempt show alike.

A key of ``TaskMetadata`` that is added here is in all three. Keys that one of them shows in a way of its own,
such as verdicts, grades and costs, stand there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from pytest_browsereval.model.results import TaskMetadata

Kind = Literal["word", "text", "prose", "texts", "bool", "int32", "int64", "float", "time"]
"""``word`` is a text that many rows share, ``prose`` one of any length; ``time`` is in milliseconds since
1970, in UTC."""


class Key(NamedTuple):
    """A key, what its values are, and how one is read."""

    name: str
    """Of the field of the record, the column and the property."""
    kind: Kind
    read: Callable[[TaskMetadata], Any]
    label: str
    """On the page."""


KEYS = (
    Key("replayed", "bool", lambda record: record.replayed, "Replayed"),
    Key("regraded_at", "time", lambda record: record.regraded_at, "Regraded"),
    Key("limit", "word", lambda record: record.limit or None, "Limit"),
    Key("download_count", "int32", lambda record: record.download_count, "Downloads"),
    Key("page_request_count", "int32", lambda record: record.page_request_count, "Requests of pages"),
    Key("conditions", "text", lambda record: ", ".join(record.conditions) or None, "Window"),
    Key("side_effects", "int32", lambda record: record.side_effects, "Side effects"),
    Key("probe", "prose", lambda record: record.known_way, "Known way"),
)
"""In the order of the columns: further ones come last."""
