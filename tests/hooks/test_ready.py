"""Ready windows in a whole run: opened for rows that are known to wait, and for no other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.launched import FUNCTION, write_agent
from tests.hooks.small_evals import Evals, row

AGENT = """
async def solve(context):
    window, name = context.window, begins(context)
    assert await window.context.cookies() == []
    await window.context.add_cookies([{"name": "of", "value": name, "url": "http://shop.test"}])
    wanted = int(context.task.metadata.additional["windows"])
    deadline = time.monotonic() + 60
    while len(window.context.browser.contexts) < wanted and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.05)
    return f"{len(window.context.browser.contexts)} windows"
"""
"""Waits until so many windows are open as its row says, and answers how many there are then."""


@pytest.mark.slow
def test_the_next_rows_window_is_open_before_a_row_ends(evals: Evals) -> None:
    """None when an eval's last row runs, and none where it could not be used; each is used once."""
    write_agent(evals, AGENT)
    configs: dict[str, tuple[list[int], dict[str, Any]]] = {
        "on": ([2, 2, 1], {"browser": "playwright"}),
        "off": ([1, 1], {"browser": {"type": "playwright", "ready_windows": 0}}),
        "recorded": ([1, 1], {"browser": "playwright", "capture": {"har": True}}),
    }
    for name, (windows, keys) in configs.items():
        rows = [
            row(
                f"{name}{n}",
                says=None,
                answer=f"{count} windows",
                metadata={"additional": {"windows": count}},
            )
            for n, count in enumerate(windows)
        ]
        evals.write_rows(*rows, name=f"{name}.jsonl")
        evals.write_config(f"{name}.eval.yaml", agent=FUNCTION, dataset=f"{name}.jsonl", **keys)
    result = evals.run("-W", "error", *(f"{name}.eval.yaml" for name in configs))
    result.assert_outcomes(passed=7)
