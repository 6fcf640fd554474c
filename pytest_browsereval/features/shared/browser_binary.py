"""The browser that is used, proved by a launch and a page with text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.binary import Binary, candidates, launch_first
from pytest_browsereval.browsers.driver import start_driver, stop_driver
from pytest_browsereval.browsers.playwright.waiting import playwright_error

if TYPE_CHECKING:
    from playwright.async_api import Browser

_DRAW_TEXT = """() => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillText("text", 9, 99);
  return pen.getImageData(0, 0, 99, 99).data.some((value) => value > 0);
}"""


async def find_binary(explicit: str | Path | None = None, *, headed: bool = False) -> Binary:
    """Return the browser that is used, proved by a launch and a page with text, and end it again.

    Raises:
        ConfigError: the named browser cannot be meant.
        StopRun: source *browser*; none starts.
    """
    choice = candidates(explicit, headed=headed)
    driver = await start_driver()
    try:
        browser, binary = await launch_first(driver.chromium, choice, headed=headed)
        drawn = await _draws_text(browser)
        await browser.close()
    finally:
        await stop_driver(driver)
    return replace(binary, draws_text=drawn)


async def _draws_text(browser: Browser) -> bool:
    page = await browser.new_page()
    try:
        return bool(await page.evaluate(_DRAW_TEXT))
    except playwright_error():  # without any font the page crashes
        return False
