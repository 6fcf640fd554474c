"""The limit: the MiniWoB example by plain async Playwright, with the same policies and pictures.

Nothing is logged, limited, graded into files or reported; a dead page ends the program.
``per_task.py`` runs it:  python raw_playwright.py LANES TASKS
``instant.py`` does with other rows, whose pages are served:  python raw_playwright.py LANES TASKS ROWS
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib.util
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Page, async_playwright

from pytest_browsereval.browsers.binary import candidates, launch_first
from pytest_browsereval.sites.static import StaticSite

EXAMPLE = Path(__file__).parents[1] / "examples" / "miniwob"
PICTURE = {"format": "jpeg", "quality": 80}
REWARD = "WOB_RAW_REWARD_GLOBAL"
CONTEXT: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 720},
    "locale": "en-US",
    "timezone_id": "UTC",
}

sys.path.insert(0, str(EXAMPLE))
from policies import play  # noqa: E402 it lies in the example's folder


class PageHands:
    """Hands of plain Playwright, with the pictures of `capture: after`: of the start and of each action."""

    def __init__(self, page: Page, session: CDPSession, folder: Path) -> None:
        self._page = page
        self._session = session
        folder.mkdir()
        self._folder = folder
        self._pictures = 0

    async def look(self) -> None:
        """Write a picture of the page as it is."""
        reply = await self._session.send("Page.captureScreenshot", PICTURE)
        self._pictures += 1
        (self._folder / f"{self._pictures:03d}.jpeg").write_bytes(base64.b64decode(reply["data"]))

    async def read(self, target: str) -> str:
        return await self._page.inner_text(target)

    async def click(self, target: str) -> None:
        await self._page.click(target)
        await self.look()

    async def fill(self, target: str, text: str) -> None:
        await self._page.fill(target, text)
        await self.look()

    async def select(self, target: str, value: str) -> None:
        await self._page.select_option(target, value)
        await self.look()


async def one_task(browser: Browser, row: dict[str, Any], base: str, folder: Path) -> float:
    """Play a row in a context of its own and return the reward."""
    context = await browser.new_context(**CONTEXT)
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await page.goto(row["start_url"].replace("{miniwob}", base))
    await page.evaluate(row["setup_script"])
    hands = PageHands(page, session, folder)
    await hands.look()
    await play(row["tags"][0], hands)
    reward: float = await page.evaluate(REWARD)
    await context.close()
    return reward


async def lane(browser: Browser, rows: Iterator[dict[str, Any]], base: str, folder: Path) -> int:
    """Play rows until none is left and return how many were solved."""
    solved = 0
    for row in rows:
        solved += await one_task(browser, row, base, folder / row["query_id"]) > 1 - 1e-9
    return solved


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Serve the pages and yield their address.

    Raises:
        SystemExit: they are not installed.
    """
    spec = importlib.util.find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The package miniwob is not installed. Type  pip install miniwob")
    site = StaticSite(Path(next(iter(spec.submodule_search_locations))) / "html")
    await site.start()
    yield site.url
    await site.close()


async def main(lanes: int, tasks: int, file: Path | None = None) -> None:
    """Play the first rows in as many lanes.

    Raises:
        SystemExit: some were not solved, so that their cost says nothing.
    """
    rows = [json.loads(line) for line in (file or EXAMPLE / "rows.jsonl").read_text().splitlines()][:tasks]
    async with served() if file is None else contextlib.nullcontext("") as base, async_playwright() as driver:
        browser, _ = await launch_first(driver.chromium, candidates())
        with tempfile.TemporaryDirectory() as name:
            waiting = iter(rows)
            done = await asyncio.gather(*(lane(browser, waiting, base, Path(name)) for _ in range(lanes)))
        await browser.close()
    if sum(done) != len(rows):
        raise SystemExit(f"{sum(done)} of {len(rows)} were solved")
    print(f"{len(rows)} passed")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:])))
