"""Evals of the shop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.browsers.conftest import chromium
from tests.hooks.small_evals import Evals

__all__ = ["chromium"]

TRUSTED = [{"path": "rows.jsonl", "trusted": True}]
SITE = {"command": ["{python}", str(Path(__file__).with_name("shop.py")), "{port}"]}


class Shop:
    """Rows that are played in the shop."""

    def __init__(self, evals: Evals) -> None:
        self.evals = evals

    def row(self, query_id: str, *steps: str | dict[str, Any], checks: Any, **more: Any) -> dict[str, Any]:
        """Return a row; a step that is a text clicks the button of that name."""
        clicks = (
            {"tool": "click", "target": f'role=button[name="{one}"]'} if isinstance(one, str) else one
            for one in steps
        )
        done = {"tool": "done", "answer": "Done."}
        base = {"query_id": query_id, "query": "Shop.", "start_url": "{shop}/", "graders": ["page_state"]}
        return {**base, "checks": checks, "solution": [*clicks, done], **more}

    def play(self, *rows: dict[str, Any], args: tuple[str, ...] = (), **config: Any) -> EvalRun:
        """Run the rows."""
        self.evals.write_rows(*rows)
        self.evals.write_config(**{"browser": "playwright", "sites": {"shop": SITE}, **config})
        return self.evals.run("shop.eval.yaml", *args)


@pytest.fixture
def shop(evals: Evals) -> Shop:
    """Return what plays rows in the shop."""
    return Shop(evals)
