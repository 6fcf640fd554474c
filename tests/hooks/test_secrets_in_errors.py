"""Whole runs: what a config's errors tell of values has no secrets, whatever shape these have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

KEY = "AzCANARYAPIKEYq7w9"
PARTS = [KEY[place : place + 6] for place in range(len(KEY) - 5)]
MCP = {"type": "mcp", "url": "http://127.0.0.1:9/mcp"}
PROGRAM = {"type": "mcp", "command": ["python"]}

SHAPES: dict[str, dict[str, Any]] = {
    "headers as a list": {"browser": {**MCP, "headers": [f"Authorization: {KEY}"]}},
    "headers in a list": {"browser": {**MCP, "headers": [{"Authorization": KEY}]}},
    "headers as a text": {"browser": {**MCP, "headers": f"Authorization: {KEY}"}},
    "a header as a list": {"browser": {**MCP, "headers": {"X-Of-The-Shop": [KEY]}}},
    "env as a list": {"browser": {**PROGRAM, "env": [f"SHOP_TOKEN={KEY}"]}},
    "env as a text": {"browser": {**PROGRAM, "env": f"SHOP_TOKEN={KEY}"}},
    "env of a program": {"agent": {"type": "command", "command": ["python"], "env": [f"SHOP_TOKEN={KEY}"]}},
    "env of a site": {"sites": {"shop": {"command": ["python"], "env": [f"SHOP_TOKEN={KEY}"]}}},
    "a judge in a list": {"judge": [{"provider": "openai", "api_key": KEY}]},
    "limits with a key": {"limits": [{"api_key": KEY}]},
    "a number": {"limits": {"max_steps": "${SHOP_KEY}"}},
    "a long number": {"limits": {"max_steps": "x" * 30 + "${SHOP_KEY}" + "y" * 100}},
    "a folder": {"dataset": "no-such/${SHOP_KEY}.jsonl"},
    "a dataset": {"dataset": "${SHOP_KEY}.jsonl"},
    "a login": {"agent": {"type": "single", "model": "m", "base_url": f"htp://user:{KEY}@host/v1"}},
    "a parameter": {"browser": {"type": "mcp", "url": f"htp://host/mcp?at=1&api_key={KEY}"}},
    "a login of a service": {"agent": {"type": "visual-action", "url": f"htp://user:{KEY}@host/"}},
    "a suffix": {"dataset": "rows.${SHOP_KEY}"},
}


def is_told(text: str) -> bool:
    return any(part in text for part in PARTS)


def test_values_of_a_wrong_shape_are_not_told(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """The error stands at its place, and what may be a secret is left out."""
    for name, shape in SHAPES.items():
        with subtests.test(name=name):
            monkeypatch.setenv("SHOP_KEY", KEY)
            run = evals.play([row("a")], "--junit-xml=junit.xml", **shape)
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            text = run.stdout.str() + run.stderr.str()
            assert "ERROR: " in text
            assert not is_told(text)
