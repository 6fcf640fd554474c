"""The limit: the same tasks by plain async Playwright, in as many lanes as its argument says.

Reads ``rows.jsonl`` in the folder it runs in and writes ``times.jsonl``: when each task began and ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright
from raw_playwright import CONTEXT, REWARD, PageHands
from steps import THINKING_S, compute, five_steps


async def think() -> None:
    """Wait as one waits for a model."""
    compute()
    await asyncio.sleep(THINKING_S)


async def one_task(browser: Browser, row: dict[str, Any], folder: Path) -> float:
    """Play a row in a context of its own and return the reward."""
    context = await browser.new_context(**CONTEXT)
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await page.goto(row["start_url"])
    await page.evaluate(row["setup_script"])
    await five_steps(row["tags"][0], PageHands(page, session, folder), think)
    reward: float = await page.evaluate(REWARD)
    await context.close()
    return reward


async def lane(browser: Browser, rows: Iterator[dict[str, Any]], times: list[tuple[float, float]]) -> int:
    """Play rows until none is left and return how many were solved."""
    solved = 0
    for row in rows:
        began = time.time()
        solved += await one_task(browser, row, Path(row["query_id"])) > 1 - 1e-9
        times.append((began, time.time()))
    return solved


async def play_all(rows: list[dict[str, Any]], lanes: int) -> tuple[int, list[tuple[float, float]]]:
    """Play all rows in as many lanes; return how many were solved, and each one's begin and end."""
    times: list[tuple[float, float]] = []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(**json.loads(os.environ["BENCHMARK_BROWSER"]))
        waiting = iter(rows)
        done = await asyncio.gather(*(lane(browser, waiting, times) for _ in range(lanes)))
        await browser.close()
    return sum(done), times


def main(lanes: int) -> None:
    """Play all rows.

    Raises:
        SystemExit: some were not solved, so that their cost says nothing.
    """
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    solved, times = asyncio.run(play_all(rows, lanes))
    Path("times.jsonl").write_text("".join(json.dumps(each) + "\n" for each in times))
    if solved != len(rows):
        raise SystemExit(f"{solved} of {len(rows)} were solved")


if __name__ == "__main__":
    main(int(sys.argv[1]))
