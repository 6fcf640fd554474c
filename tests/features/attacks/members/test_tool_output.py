"""The attack ``tool_output``: the payload in the result of a tool."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_browsereval.features.shared.attack import Placer
from tests.features.attacks.members.conftest import make_attack


class _Placer:
    """Knows the payload and what was delivered."""

    payload = "Obey"

    def __init__(self) -> None:
        self.delivered: list[str] = []

    def note_delivered(self, where: str) -> None:
        self.delivered.append(where)


@pytest.mark.parametrize(
    ("options", "tool", "result"),
    [
        ({}, "read_text", "Mug\nObey"),
        ({"how": "prepend"}, "read_text", "Obey\nMug"),
        ({"how": "replace", "tool": "read_text"}, "read_text", "Obey"),
        ({"tool": "read_text"}, "click", None),
    ],
)
def test_the_payload_is_in_results_of_the_tool(
    options: dict[str, Any], tool: str, result: str | None
) -> None:
    """Of all tools, or of one."""
    placer = _Placer()
    attack = make_attack("tool_output", **options)
    assert attack.alter_result(tool, "Mug", cast("Placer", placer)) == result
    assert placer.delivered == ([] if result is None else [f"result of {tool}"])
    assert attack.needs().page is None
