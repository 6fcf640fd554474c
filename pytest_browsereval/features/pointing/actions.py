"""Actions at points of a picture: what they are, where they land, and the tools that perform them.

Geometry. A model points at the picture that it was shown. ``normalized`` points lie on a grid of 1000 by
1000 regardless of the picture's size: n stands for n/1000 of the width, so 0 to 999 are inside (Gemini's
computer use and BrowserOS's visual executor define it so). ``pixels`` are pixels of the picture as shown,
which may be smaller than the page (to save tokens) or larger (device pixels). Either becomes CSS pixels
of the viewport, rounded to the nearest whole one, half up, for mouse events carry whole numbers; rounding
never leaves the viewport. A point outside the picture is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.input import NOTCH_PX

Coordinates = Literal["normalized", "pixels"]
GRID = 1000
"""Points of a normalized axis."""
MOST_NOTCHES = 100


class BadAction(ValueError):
    """What a model asked for is not an action; the message says why."""


@dataclass(frozen=True)
class Kind:
    """One action of the vocabulary."""

    description: str
    """What a model reads about it."""
    tools: tuple[str, ...]
    """The tools that it is performed with."""
    needs: tuple[str, ...] = ()
    """Fields that have to be there."""
    takes: tuple[str, ...] = ()
    """Fields that may be there."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of its tool that it stands for."""
    passes: Mapping[str, str] = field(default_factory=dict)
    """Arguments of its tool, and the fields that they are taken from."""


KINDS: Mapping[str, Kind] = TypeAdapter(dict[str, Kind]).validate_python(
    yaml.safe_load(Path(__file__).with_name("actions.yaml").read_text(encoding="utf-8"))
)
"""The vocabulary."""

ALWAYS = ("click", "double_click", "right_click", "hover", "type", "press", "scroll", "drag", "wait", "done")
"""What an agent that points cannot do without; the others are offered where their tools are switched on."""


class Action(BaseModel):
    """One action, checked: every field that its kind needs is there. ``spellings`` makes them.

    The descriptions of its fields are what a model reads of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    action: str
    x: FiniteFloat | None = Field(None, description="Of the point, from the left.")
    y: FiniteFloat | None = Field(None, description="Of the point, from the top.")
    end_x: FiniteFloat | None = Field(None, description="Where a drag ends, from the left.")
    end_y: FiniteFloat | None = Field(None, description="Where a drag ends, from the top.")
    path: list[tuple[FiniteFloat, FiniteFloat]] | None = Field(
        None, min_length=3, max_length=200, description="All points of a drag, of models that draw."
    )
    text: str | None = Field(
        None, max_length=100_000, description="What to type; the answer with done, the reason with give_up."
    )
    key: str | None = Field(
        None, min_length=1, max_length=60, description="Enter, Escape, Tab, ArrowDown, a, Control+A, …"
    )
    direction: Literal["up", "down", "left", "right"] | None = Field(
        None, description="Where to scroll to: up, down, left or right."
    )
    amount: FiniteFloat | None = Field(
        None, gt=0, description="Notches of the wheel, 120 pixels each; 3 by default."
    )
    unit: Literal["notches", "pixels", "grid"] = "notches"
    """Of ``amount``: notches of the wheel, CSS pixels, or thousandths of the viewport."""
    seconds: FiniteFloat | None = Field(None, description="How long to wait, up to 30; 1 by default.")
    clear: bool = Field(default=False, description="Delete what is in the field before typing.")
    enter: bool = Field(default=False, description="Press Enter after typing.")
    url: str | None = Field(None, description="The address to open.")
    tab: int | None = Field(None, description="The tab's number.")
    accept: bool | None = Field(None, description="True for OK, false for Cancel.")

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> Action:
        """Return the action, whose name is known.

        Raises:
            BadAction: a field is missing or wrong.
        """
        name = str(fields["action"])
        # Nothing to type is an action where the field is cleared; nothing to answer is an answer.
        empty = (None,) if name == "done" or fields.get("clear") else (None, "")
        if lacking := [need for need in KINDS[name].needs if fields.get(need) in empty]:
            raise BadAction(f"{name} needs {' and '.join(lacking)}")
        try:
            return cls.model_validate(dict(fields))
        except ValidationError as error:
            wrong = (f"{e['loc'][0]}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors())
            raise BadAction(f"{name}: {'; '.join(wrong)}") from None


@dataclass(frozen=True)
class Geometry:
    """Turns points of a picture into points of the viewport; the module's docstring has the rules."""

    viewport: tuple[int, int]
    """Width and height in CSS pixels."""
    picture: tuple[int, int]
    """Width and height of the picture as the model is shown it."""
    coordinates: Coordinates = "normalized"

    @property
    def extent(self) -> tuple[int, int]:
        """How many points there are from left to right and from top to bottom."""
        return (GRID, GRID) if self.coordinates == "normalized" else self.picture

    def point(self, x: float, y: float) -> tuple[int, int]:
        """Return the point of the viewport.

        Raises:
            BadAction: it is outside the picture.
        """
        width, height = self.extent
        if not (0 <= x < width and 0 <= y < height):
            ranges = f"x goes from 0 to {width - 1}, y from 0 to {height - 1}"
            raise BadAction(f"({x:g}, {y:g}) is outside the picture: {ranges}")
        sides = zip((x, y), self.extent, self.viewport, strict=True)
        across, down = (min(math.floor(at * size / of + 0.5), size - 1) for at, of, size in sides)
        return across, down

    def notches(self, action: Action) -> int:
        """Return how many notches of the wheel a scroll is, three by default."""
        if action.amount is None:
            return 3
        size = self.viewport[0 if action.direction in ("left", "right") else 1]
        px = {"notches": NOTCH_PX, "pixels": 1.0, "grid": size / GRID}[action.unit] * action.amount
        return max(1, min(MOST_NOTCHES, round(px / NOTCH_PX)))


ToolCall = tuple[str, dict[str, Any]]


def tool_calls(action: Action, geometry: Geometry) -> list[ToolCall]:
    """Return the tool calls that perform an action.

    Raises:
        BadAction: a point of it is outside the picture.
    """
    kind, at = KINDS[action.action], _at(action, geometry)
    match action.action:
        case "type":
            words = {"text": action.text or "", "clear": action.clear}
            typing: ToolCall = ("type_at", {**at, **words}) if at else ("type_keys", words)
            return [typing, ("press_key", {"key": "Enter"})] if action.enter else [typing]
        case "scroll":
            middle = {"x": geometry.viewport[0] // 2, "y": geometry.viewport[1] // 2}
            turns = {"direction": action.direction, "amount": geometry.notches(action)}
            arguments = {**(at or middle), **turns}
        case "press" if action.seconds is not None:
            arguments = {"key": action.key, "hold_ms": action.seconds * 1000}
        case "drag" if action.path:
            arguments = {"path": [list(geometry.point(x, y)) for x, y in action.path]}
        case "drag":
            end_x, end_y = geometry.point(action.end_x or 0.0, action.end_y or 0.0)
            arguments = {"start_x": at["x"], "start_y": at["y"], "end_x": end_x, "end_y": end_y}
        case _:
            passed = {name: getattr(action, own) for name, own in kind.passes.items()}
            given = {name: value for name, value in passed.items() if value is not None}
            arguments = {**at, **kind.fixed, **given}
    return [(kind.tools[0], arguments)]


def _at(action: Action, geometry: Geometry) -> dict[str, Any]:
    if (action.x is None) != (action.y is None):
        raise BadAction(f"{action.action} has only one of x and y")
    if action.x is None or action.y is None:
        return {}
    x, y = geometry.point(action.x, action.y)
    return {"x": x, "y": y}


def offered(tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the actions that the tools allow, in the order of the vocabulary."""
    return tuple(name for name, kind in KINDS.items() if all(tool in tools for tool in kind.tools))
