"""What recordings hold, and what tests expect of them."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.features.record.steps import Item

SAY = "<p id=said></p><script>function say(text) { said.textContent = text }</script>"


def contents(items: list[Item] | None) -> list[dict[str, Any]]:
    assert items is not None
    return [item.content for item in items]


def step(tool: str, target: str = "", **more: Any) -> dict[str, Any]:
    return {"tool": tool, **({"target": target} if target else {}), **more}
