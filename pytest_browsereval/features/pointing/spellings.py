"""Reads actions in the spellings that models use: other names, other fields, or wrapped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.pointing.actions import KINDS, Action, BadAction
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.tools.keys import name_key

DEEPEST = 5
"""How many objects an action may be wrapped in."""

_TABLES = yaml.safe_load(Path(__file__).with_name("spellings.yaml").read_text(encoding="utf-8"))
_MEANT: Mapping[str, Mapping[str, Any]] = _TABLES["meant"]
_FIELDS: Mapping[str, Sequence[str]] = _TABLES["fields"]
NAMES: Mapping[str, str] = {
    **{name: name for name in KINDS},
    **{other: name for name, others in _TABLES["names"].items() for other in others},
}
"""Every known spelling of an action's name, and the name."""

_NAME_KEYS = ("action", "action_type", "type", "name", "tool", "function", "tool_name")
_WRAPPERS = ("action", "arguments", "args", "parameters", "params", "action_input", "action_args", "function")

# `coordinate` is Anthropic's and Qwen's word, `start_box` that of UI-TARS.
_POINTS = ("coordinate", "coordinates", "position", "point", "start_box")
_STARTS = ("start", "start_coordinate", "start_point", "start_position", "from")
_ENDS = ("end", "end_coordinate", "end_point", "end_position", "to", "destination", "end_box")

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def read_action(given: Mapping[str, Any], *, ending: str | None = None, unit: str = "notches") -> Action:
    """Return the action that an object stands for.

    Args:
        given: what a model wrote, the arguments of a tool call for example.
        ending: the text of a ``done`` that has none.
        unit: what a plain ``amount`` of scrolling counts; see ``Action.unit``.

    Raises:
        BadAction: it is none; the message tells the model what is wrong.
    """
    flat = _unwrapped(given)
    name = _named(flat)
    meant = _MEANT.get(name, {"action": NAMES.get(name, name)})
    kind = KINDS.get(str(meant["action"]))
    if kind is None:
        hint = nearest(name[:60], NAMES)
        raise BadAction(f"{beginning(name, 60)!r} is not an action.{hint}")
    wanted = (*kind.needs, *kind.takes)
    fields = {key: value for key in wanted if (value := _first(flat, _FIELDS[key])) is not None}
    if "x" in wanted:
        fields.update(_points(flat, fields, has_end="end_x" in wanted))
    if "amount" in wanted:
        fields.update(_scrolling(flat, fields, unit))
    if name == "hold_key":
        fields["seconds"] = _first(flat, _FIELDS["seconds"])
    if "key" in fields:
        keys = fields["key"]
        fields["key"] = name_key("+".join(map(str, keys)) if isinstance(keys, list) else keys)
    if meant["action"] == "done" and ending is not None:
        fields.setdefault("text", ending)
    return Action.checked({**fields, **meant})


# -- names


def _unwrapped(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with what is wrapped in it at its top, and all keys in snake_case."""
    flat = _snaked(given)
    for _ in range(DEEPEST):
        wrapped = next(((key, inner) for key in _WRAPPERS if (inner := _object(flat.get(key)))), None)
        if wrapped is None:
            break
        flat.pop(wrapped[0])
        flat.update(_snaked(wrapped[1]))
    if len(flat) == 1:
        (name, inner), *_ = flat.items()
        if name in NAMES and isinstance(inner, Mapping):
            return {"action": name, **_snaked(inner)}
    return flat


def _snaked(given: Mapping[str, Any]) -> dict[str, Any]:
    return {_snake(str(key)): value for key, value in given.items()}


def _snake(text: str) -> str:
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text.strip()[:100])
    return re.sub(r"[\s-]+", "_", text).lower()


def _object(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _named(flat: Mapping[str, Any]) -> str:
    """Return the action's name as it is spelled; an ``action`` counts before all other keys."""
    if "action" in flat:
        if not isinstance(flat["action"], str) or not flat["action"].strip():
            raise BadAction(f"the action is {_show(flat['action'])}, not a name")
        return _snake(flat["action"])
    given = [_snake(flat[key]) for key in _NAME_KEYS if isinstance(flat.get(key), str) and flat[key].strip()]
    # `type` and `name` have other meanings too: a known action among them is meant.
    known = [name for name in given if name in NAMES or name in _MEANT]
    if not known and not given:
        raise BadAction("it names no action")
    return (known or given)[0]


# -- fields


def _first(flat: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((flat[name] for name in names if flat.get(name) is not None), None)


def _points(flat: Mapping[str, Any], fields: Mapping[str, Any], *, has_end: bool) -> dict[str, Any]:
    """Return x and y, and for a drag where it ends, if they are given as pairs."""
    point, end, way = _first(flat, _POINTS), None, dict[str, Any]()
    if has_end:
        start, end = _first(flat, _STARTS), _first(flat, _ENDS)
        if start is not None:
            point, end = start, end if end is not None else point
        # OpenAI's computer use gives a drag as a path of points.
        path = flat.get("path")
        if isinstance(path, list) and len(path) > 1:
            point, end = path[0], path[-1]
            way = {"path": [_pair(one) for one in path]} if len(path) > 2 else {}
    if point is None and isinstance(fields.get("x"), list | str):
        point = fields["x"] if fields.get("y") is None else None
    found = {} if point is None else dict(zip(("x", "y"), _pair(point), strict=True))
    return found if end is None else found | way | dict(zip(("end_x", "end_y"), _pair(end), strict=True))


def _pair(value: Any) -> list[Any]:
    given = value
    if isinstance(value, Mapping):
        value = [value.get("x"), value.get("y")]
    if isinstance(value, str):
        value = _NUMBER.findall(value[:200])
    if isinstance(value, list) and len(value) == 2 and None not in value:
        return value
    raise BadAction(f"{_show(given)} is not a point; write x and y, a number each")


def _show(value: Any) -> str:
    return beginning(json.dumps(value, default=str), 60)


def _scrolling(flat: Mapping[str, Any], fields: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """Return direction, amount and unit of a scroll."""
    named = fields.get("direction")
    way: dict[str, Any] = {} if named is None else {"direction": str(named).strip().lower()}
    if fields.get("amount") is not None:
        return way | {"unit": unit}
    # Gemini's `scroll_at` counts on its grid.
    if flat.get("magnitude") is not None:
        return way | {"amount": flat["magnitude"], "unit": "grid"}
    # Qwen's pixels are positive upwards; all others count as browsers do, positive downwards.
    moves = [(flat.get("pixels"), "up", "down")]
    moves += [(flat.get(key), "down", "up") for key in ("scroll_y", "delta_y")]
    moves += [(flat.get(key), "right", "left") for key in ("scroll_x", "delta_x")]
    for given, positive, negative in moves:
        if isinstance(given, int | float) and given:
            moved = way or {"direction": positive if given > 0 else negative}
            return {**moved, "amount": abs(given), "unit": "pixels"}
    return way
