"""The same tasks by pytest-playwright, one at a time, in a folder with ``rows.jsonl``.

What runs it copies this file there, into an environment without the plugin.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playing import CONTEXT, REWARD, PicturedHands, launch_options, rows, run_through
from steps import THINKING_S, compute, five_steps

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
ROWS = rows(HERE / "rows.jsonl")


async def think() -> None:
    """Wait as one waits for a model."""
    compute()
    time.sleep(THINKING_S)  # noqa: ASYNC251 there is no event loop


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Return the plugin's own arguments and ours."""
    return {**browser_type_launch_args, **launch_options()}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """Return the plugin's own arguments and ours."""
    return {**browser_context_args, **CONTEXT}


@pytest.fixture
def timed(browser: object) -> Generator[None, None, None]:
    """Note when the task began and ended, its context's opening and closing included."""
    del browser  # it is up by now
    began = time.time()
    yield
    with (HERE / "times.jsonl").open("a") as file:
        file.write(json.dumps((began, time.time())) + "\n")


@pytest.mark.parametrize("row", ROWS, ids=[row["query_id"] for row in ROWS])
def test_row(timed: None, page: Page, row: dict[str, Any]) -> None:
    """Take five steps."""
    del timed
    hands = PicturedHands(page, HERE / row["query_id"])
    page.goto(row["start_url"])
    page.evaluate(row["setup_script"])
    run_through(five_steps(row["tags"][0], hands, think))
    assert page.evaluate(REWARD) > 1 - 1e-9  # noqa: S101 a test of its own environment
