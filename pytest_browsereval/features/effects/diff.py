"""States of sites as tables, what differs between two of them, and how that is said in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import JsonValue

from pytest_browsereval.graders.values import show
from pytest_browsereval.model.display import join_first
from pytest_browsereval.redaction.marks import MARK
from pytest_browsereval.redaction.names import is_secret_name
from pytest_browsereval.redaction.text import redact_json

Row = dict[str, JsonValue]
VALUE = "value"
"""The column of a list whose entries are no objects."""
MOST_COLUMNS, LONGEST_VALUE = 4, 60
"""Of a row that are named in words, and of a value in characters."""


@dataclass(frozen=True)
class Table:
    """Rows of a database or of a list, or the values of one object."""

    rows: Sequence[Row] = ()
    key: tuple[str, ...] = ()
    is_single: bool = False
    """Whether it is one object, whose values change and which is not added or removed."""


State = Mapping[str, Table]
"""The tables of a site by name."""


@dataclass(frozen=True)
class Difference:
    """A row that was added or removed, or some of whose columns were changed."""

    kind: Literal["added", "changed", "removed"]
    table: str
    """Empty for values that are in no object."""
    key: tuple[str, ...] = ()
    """The columns that tell rows apart."""
    before: Row = field(default_factory=dict)
    after: Row = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    """Those that were changed."""
    site: str = ""

    @property
    def row(self) -> Row:
        """The row where it was last."""
        return self.after if self.kind == "added" else self.before

    def redact(self, hide: Sequence[str], redact: Callable[[str], str]) -> Difference:
        """Return it without secrets and what is hidden; that a column was changed stays."""
        # Of an object whose own name says that its values are secrets: `password: {ada: ...}`.
        is_secret = is_secret_name(self.table.rpartition(".")[2], "field")
        is_object = not self.key and self.kind == "changed"

        def clean(column: str, value: JsonValue) -> JsonValue:
            if (is_secret and (is_object or column == VALUE)) or is_hidden(hide, self.table, column):
                return MARK
            if isinstance(value, dict):
                return {name: clean(f"{column}.{name}", one) for name, one in value.items()}
            return [clean(column, one) for one in value] if isinstance(value, list) else value

        def clean_row(row: Row) -> Row:
            return {c: redact_json(clean(c, value), redact) for c, value in row.items()}

        return replace(self, before=clean_row(self.before), after=clean_row(self.after))


def read_difference(stored: Mapping[str, Any]) -> Difference:
    """Return a difference that was stored."""
    return Difference(**{**stored, "key": tuple(stored["key"]), "columns": tuple(stored["columns"])})


def matches(patterns: Iterable[str], table: str, column: str = "") -> bool:
    """Return whether ``table.column``, or a table, matches a pattern: ``sessions.*``, ``*.updated_at``."""
    name = f"{table}.{column}" if table else column
    return any(fnmatchcase(name, pattern) or table == pattern for pattern in patterns)


def leaves_nothing(volatile: Iterable[str], tables: Iterable[str]) -> bool:
    """Return whether no column of any of the tables is compared."""
    return all(matches(volatile, table, "\0") for table in tables)


def is_hidden(hide: Iterable[str], table: str, column: str) -> bool:
    """Return whether the values of a column are never written."""
    return matches(hide, table, column) or any(is_secret_name(one, "field") for one in column.split("."))


# -- states


def list_tables(value: JsonValue, key: str | Mapping[str, str] = "id") -> State:
    """Return the tables of a JSON value: each list is one, and each object with other values.

    Args:
        value: the state. Null, and what is empty, counts as not there.
        key: the column that tells rows of a list apart, for all lists or by the name of the list.
    """
    tables: dict[str, Table] = {}
    for name, one in _walk("" if isinstance(value, dict) else "state", value, key):
        other = tables.get(name)  # `{"a.b": ...}` next to `{"a": {"b": ...}}`
        tables[name] = Table([*other.rows, *one.rows]) if other else one
    return tables


def _walk(name: str, value: JsonValue, key: str | Mapping[str, str]) -> Iterator[tuple[str, Table]]:
    if isinstance(value, list):
        rows: list[Row] = [flatten(one) if isinstance(one, dict) else {VALUE: one} for one in value]
        yield name, Table(rows, (key if isinstance(key, str) else key.get(name, "id"),))
        return
    given = value if isinstance(value, dict) else {VALUE: value}
    plain: Row = {c: v for c, v in given.items() if v is not None and not isinstance(v, dict | list)}
    if plain or not given:
        yield name, Table([plain] if plain else [], is_single=True)
    for inner, one in given.items():
        if isinstance(one, dict | list):
            yield from _walk(f"{name}.{inner}" if name else inner, one, key)


def flatten(row: Mapping[str, JsonValue], above: str = "") -> Row:
    """Return a row whose inner objects are columns: ``address.city``."""
    flat: Row = {}
    for name, value in row.items():
        is_inner = isinstance(value, dict) and value
        inner = flatten(value, f"{above}{name}.") if is_inner else {above + name: value}  # type: ignore[arg-type]
        for column, one in inner.items():  # two of one name, as above, are kept as a list
            flat[column] = sorted([flat[column], one], key=_spell) if column in flat else one
    return flat


def compare_states(before: State, after: State, volatile: Sequence[str] = ()) -> list[Difference]:
    """Return what differs between two states of a site.

    Args:
        before: by table.
        after: by table.
        volatile: what is not compared: ``["sessions.*", "*.updated_at"]``.
    """
    found: list[Difference] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, Table()), after.get(name, Table())
        # Equal tables may have true for 1, which their texts tell apart.
        if repr(old) != repr(new) and not matches(volatile, name):
            found += _compare_tables(name, old, new, volatile)
    return found


def _compare_tables(name: str, old: Table, new: Table, volatile: Sequence[str]) -> Iterator[Difference]:
    rows = [
        [{c: v for c, v in row.items() if not matches(volatile, name, c)} for row in one.rows]
        for one in (old, new)
    ]
    is_single, key = all(one.is_single or not one.rows for one in (old, new)), old.key or new.key
    if is_single:
        key, (before, after) = (), ({"": next(iter(each), {})} for each in rows)
    else:
        if old.is_single or new.is_single or not all(_has_key(each, key) for each in rows):
            key = ()
        before, after = (_index(each, key) for each in rows)
    for place in {**before, **after}:
        old_row, new_row = before.get(place), after.get(place)
        if old_row is None or new_row is None:
            kind: Any = "added" if old_row is None else "removed"
            if old_row or new_row:  # a volatile table as a whole, `sessions.*`, has no columns left
                yield Difference(kind, name, key, old_row or {}, new_row or {})
            continue
        changed = tuple(c for c in {**old_row, **new_row} if is_other(old_row.get(c), new_row.get(c)))
        if changed:
            yield Difference("changed", name, key, old_row, new_row, changed)


def _has_key(rows: Sequence[Row], key: tuple[str, ...]) -> bool:
    """Whether a key tells all rows apart."""
    places = {repr([row.get(c) for c in key]) for row in rows}
    return all(c in row for c in key for row in rows) and len(places) == len(rows)


def _index(rows: Iterable[Row], key: tuple[str, ...]) -> dict[str, Row]:
    """Return rows by their keys; without a key by all that they are, and by how many alike come before."""
    index: dict[str, Row] = {}
    seen = Counter[str]()
    for row in rows:
        text = _spell([row[c] for c in key] if key else row)
        index[f"{text} {seen[text]}"] = row
        seen[text] += 1
    return index


def is_other(old: JsonValue, new: JsonValue) -> bool:
    """Return whether two values differ; true is not 1, and 1.0 is."""
    may_be = type(old) is not type(new) or isinstance(old, dict | list)
    return old != new or (may_be and _spell(old) != _spell(new))


def _spell(value: JsonValue) -> str:
    """Return a text that equal values share."""
    return json.dumps(_settle(value), sort_keys=True)


def _settle(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _settle(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_settle(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# -- words


def describe_difference(difference: Difference, *, with_values: bool = True) -> str:
    """Return a difference in words: ``orders 7 (user "bob"): status was changed from "open" to "cancelled"``.

    Args:
        difference: what is said.
        with_values: False names table, key and columns only, for places that others may read.
    """
    one, row = difference, difference.row
    name = " ".join([one.table, *(show(row.get(c), LONGEST_VALUE) for c in one.key)])
    others = [c for c in row if c not in (*one.key, *one.columns) and isinstance(row[c], str | int | float)]
    shown = ", ".join(f"{c} {show(row[c], LONGEST_VALUE)}" for c in others[:MOST_COLUMNS])
    listed = shown if with_values else ""
    if one.kind != "changed":
        name = name if one.key else f"a row of {one.table}"
        return f"{name} was {one.kind}" + (f": {listed}" if listed else "")
    ends = {c: [show(each.get(c), LONGEST_VALUE) for each in (one.before, one.after)] for c in one.columns}
    moves = {c: f" from {old} to {new}" if with_values else "" for c, (old, new) in ends.items()}
    said = join_first([f"{c} was changed{move}" for c, move in moves.items()], MOST_COLUMNS)
    if not one.key:  # the values of an object
        return f"{one.table}: {said}" if one.table else said
    return f"{name}{f' ({listed})' if listed else ''}: {said}"
