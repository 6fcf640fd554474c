"""Says from raw dumps of a state which rows have which side effects, without the package's code.

It takes what a row asks for out of both dumps; what then differs is a side effect.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

KEYS = ("id", "number", "name")
"""The first of these columns that a row has identifies it, else all of its values do."""
PATH = re.compile(r"([^[]+)(?:\[(.+)=(.+)\]\.(.+))?")
"""``cart[id=mug].quantity``, or ``address.city``."""

Rows = dict[tuple[str, str, int], dict[str, Any]]
"""By table, key, and how many alike come before."""


def list_rows(state: Any, table: str = "") -> Rows:
    """Return the rows of a state: those of each list, and one for each object with plain values."""
    found: Rows = {}
    if isinstance(state, list):
        seen: Counter[str] = Counter()
        for one in state:
            row = spread(one) if isinstance(one, dict) else {"value": one}
            key = next((str(row[name]) for name in KEYS if name in row), json.dumps(row, sort_keys=True))
            found[table, key, seen[key]] = row
            seen[key] += 1
        return found
    plain = {name: one for name, one in state.items() if not isinstance(one, dict | list | None)}
    if plain:
        found[table, "", 0] = plain
    for name, one in state.items():
        if isinstance(one, dict | list):
            found |= list_rows(one, f"{table}.{name}" if table else name)
    return found


def spread(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose inner objects are columns."""
    flat: dict[str, Any] = {}
    for name, one in row.items():
        flat |= {f"{name}.{i}": v for i, v in spread(one).items()} if isinstance(one, dict) else {name: one}
    return flat


def has(row: dict[str, Any], wanted: Any) -> bool:
    """Whether a row has all that is wanted; of a list of texts, whether it is that text."""
    flat = spread(wanted) if isinstance(wanted, dict) else {"value": wanted}
    return all(row.get(name) == one for name, one in flat.items())


def take(effect: dict[str, Any], before: Rows, after: Rows) -> bool:
    """Take out of both what one effect is about; return whether it came about."""
    if "changed" not in effect:
        kind = "added" if "added" in effect else "removed"
        full, other = (after, before) if kind == "added" else (before, after)
        wanted = effect["equals"] if kind == "added" else effect["where"]
        for place in [one for one in full if one not in other and one[0] == effect[kind]]:
            if has(full[place], wanted):
                del full[place]
                return True
        return False
    path, name, value, column = PATH.findall(effect["changed"])[0]
    if not column and not isinstance(effect["equals"], dict):
        path, _, column = path.rpartition(".")
    for place in [one for one in before.keys() | after.keys() if one[0] == path]:
        old, new = before.setdefault(place, {}), after.setdefault(place, {})
        if (name and str(old.get(name)) != value) or old == new:
            continue
        wanted = {column: effect["equals"]} if column else effect["equals"]
        if has(new, wanted) and not has(old, wanted):
            old.update({one: new[one] for one in wanted})
            return True
    return False


def recount(effects: Any, dump: dict[str, Any]) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether all effects of a row came about, and the kind and table of each side effect."""
    before, after = (list_rows(dump[when] or {}) for when in ("before", "after"))
    for rows in (before, after):  # of the mailbox, what is not compared
        for place in [one for one in rows if one[0] == "visits"]:
            del rows[place]
        for row in (row for place, row in rows.items() if place[0] == "messages"):
            del row["unread"]
    taken = [take(one, before, after) for one in effects if effects != "nothing"]
    found = []
    for place in sorted({*before, *after}):
        old, new = before.get(place), after.get(place)
        if old == new:
            continue
        kind = "changed" if place[1] == "" or (old and new) else "added" if new else "removed"
        found.append((kind, place[0]))
    return all(taken), sorted(found)
