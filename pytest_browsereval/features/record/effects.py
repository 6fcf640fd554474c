"""Proposes the effects of a recorded row: what its steps changed in the state of its sites, twice alike."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.features.shared.effects import Change, read_differences, read_key
from pytest_browsereval.redaction.marks import MARK


def add_effects(row: Mapping[str, Any], effects: JsonValue, grader: JsonValue) -> dict[str, JsonValue]:
    """Return a row that says what changes, with the grader that looks at it."""
    return {**row, "graders": [*row["graders"], grader], "effects": effects}


def propose_effects(solved: Sequence[Path], idle: Sequence[Path]) -> JsonValue:
    """Return what a row changes, as its ``effects`` say it; None where that is not the same each time.

    Args:
        solved: folders of two attempts by the recorded steps.
        idle: folders of attempts that did nothing: where something has changed, it changes by itself.
    """
    first, second = ([change for _, change in read_differences(one)] for one in solved)
    if len(first) != len(second) or any(map(read_differences, idle)):
        return None
    found: Counter[str] = Counter()
    for one in first:
        same = [o for o in second if [o[k] for k in ("kind", "table")] == [one[k] for k in ("kind", "table")]]
        if not same:
            return None
        other = next((o for o in same if read_key(o) == read_key(one)), same[0])
        second.remove(other)
        found.update(json.dumps(effect) for effect in _list_effects(one, other))
    blocks = [(json.loads(text), count) for text, count in found.items()]
    return [{**block, **({"count": count} if count > 1 else {})} for block, count in blocks] or "nothing"


def _list_effects(one: Change, other: Change) -> Iterator[dict[str, JsonValue]]:
    """Yield the effects that say a change, with the values that both plays have."""
    table, before, after = one["table"], one["before"], one["after"]
    where = {column: before[column] for column in one["key"] or before if _is_written(before, column)}
    alike = {c: v for c, v in after.items() if v == other["after"].get(c) and _is_written(after, c)}
    if one["kind"] == "added":  # a number by which the site tells rows apart says nothing of what was added
        equals = {c: v for c, v in alike.items() if c not in one["key"] or isinstance(v, str)}
        yield {"added": table, **({"equals": equals} if equals else {})}
    elif one["kind"] == "removed":
        yield {"removed": table, "where": where}
    for column in one["columns"]:
        path = f"{table}.{column}" if table else column
        equals = {"equals": alike[column]} if column in alike else {}
        yield {"changed": path, **({"where": where} if one["key"] else {}), **equals}


def _is_written(row: Mapping[str, JsonValue], column: str) -> bool:
    """Whether a row has a column, and no secret in it."""
    return column in row and MARK not in str(row[column])
