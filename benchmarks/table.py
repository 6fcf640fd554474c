"""What a benchmark says at its end: one line for each thing measured, beside its goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

GoalKind = Literal["at most", "at least"]
_VERDICTS = {True: "met", False: "MISSED", None: ""}


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    what: str
    goal: str
    """As text, with its unit; empty where a figure has no goal."""
    measured: str
    """The same; ``not measured: why`` where it could not be."""
    is_met: bool | None
    """None: there is no goal, or nothing was measured."""
    note: str = ""

    @property
    def is_missing(self) -> bool:
        """True where a goal stands and nothing was measured."""
        return bool(self.goal) and self.is_met is None


def against(
    what: str,
    measured: float,
    kind: GoalKind,
    goal: float,
    *,
    unit: str = "x",
    digits: int = 2,
    note: str = "",
) -> Line:
    """Return the line of a figure that has a goal, which is judged by the figure itself, not as rounded."""
    is_met = measured <= goal if kind == "at most" else measured >= goal
    sign = "≤" if kind == "at most" else "≥"
    return Line(what, f"{sign} {goal:g} {unit}", f"{measured:.{digits}f} {unit}", is_met, note)


def missing(what: str, goal: str, why: str) -> Line:
    """Return the line of a goal that nothing was measured for."""
    return Line(what, goal, f"not measured: {why}", None)


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a table of Markdown, its columns as wide as they need."""
    head = ("what", "goal", "measured", "", "note")
    cells = [
        head,
        *((each.what, each.goal, each.measured, _VERDICTS[each.is_met], each.note) for each in lines),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    rule = "-|-".join("-" * width for width in widths)
    return "\n".join(f"| {row} |" for row in (rows[0], rule, *rows[1:]))


def exit_code(lines: Sequence[Line]) -> int:
    """Return 2 when a goal could not be measured, 1 when one was missed, 0 otherwise."""
    if any(line.is_missing for line in lines):
        return 2
    return int(any(line.is_met is False for line in lines))
