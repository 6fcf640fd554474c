"""Each row is a test of pytest-playwright: its fixture ``page``, the same policy, the page's own reward."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playing import REWARD, PageHands, PicturedHands, play, rows
from playwright.sync_api import Page

ROWS = rows(os.environ["BENCHMARK_ROWS"], int(os.environ["BENCHMARK_FIRST"]))
PICTURES = os.environ.get("BENCHMARK_PICTURES")
"""The folder of a JPEG after each action; unset: there are none."""


@pytest.mark.parametrize("row", ROWS, ids=[row["query_id"] for row in ROWS])
def test_row(page: Page, row: dict[str, Any]) -> None:
    """The page gives its full reward."""
    hands = PicturedHands(page, Path(PICTURES) / row["query_id"]) if PICTURES else PageHands(page)
    page.goto(row["start_url"])
    page.evaluate(row["setup_script"])
    play(row["tags"][0], hands)
    assert page.evaluate(REWARD) > 1 - 1e-9  # noqa: S101 it is a test
