"""Waits until the start page of an attempt is as its row or its site says: ``ready``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from fnmatch import fnmatchcase

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.page_text import read_page_text, read_title
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders.values import TEXT_LIMIT, flatten
from pytest_browsereval.model.tasks import Ready, Task
from pytest_browsereval.sites import SiteConfig, fill
from pytest_browsereval.tools.targets import locate

POLL_S = 0.1
_DIALOG = "a dialog is open"
ANSWER_S = 5.0
"""How long the page may take to answer once."""


async def await_ready(
    window: Window, task: Task, sites: Mapping[str, SiteConfig], urls: Mapping[str, str]
) -> None:
    """Wait until the start page of a window is ready: as the row says, or the site which it starts at.

    Args:
        window: at the start page.
        task: the row, its placeholders filled in.
        sites: of the config.
        urls: of the sites that it uses.

    Raises:
        Fault: source *site*: it is not within the time, with what is there instead.
    """
    if (ready := _choose_ready(task, sites, urls)) is None:
        return
    if not isinstance(window, PlaywrightWindow):  # which was refused, unless a plug-in has changed the row
        raise Fault(ErrorSource.HARNESS, "the row has `ready`, but this browser has no page to look at")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ready.timeout_s
    while (lacks := await _try(window, ready)) is not None:
        if window.dead:
            raise Fault(ErrorSource.BROWSER, window.dead)
        if loop.time() >= deadline:
            there = await _describe_page(window)
            raise Fault(
                ErrorSource.SITE,
                f"the page was not ready within {ready.timeout_s:g} s (`ready`): {lacks}. There was {there}",
            )
        await asyncio.sleep(POLL_S)


def _choose_ready(task: Task, sites: Mapping[str, SiteConfig], urls: Mapping[str, str]) -> Ready | None:
    start = f"{task.start_url}/"
    home = next((name for name, url in urls.items() if name in sites and start.startswith(f"{url}/")), None)
    if task.ready is None and home is not None and (ready := sites[home].ready) is not None:
        return Ready.model_validate(fill(ready.model_dump(), urls))
    return task.ready


async def _try(window: PlaywrightWindow, ready: Ready) -> str | None:
    """Return what is not as it has to be, or None."""
    if window.dialog is not None:  # which is for the agent to answer
        return _DIALOG
    try:
        return await window.watch(_find_lack(window, ready), ANSWER_S)
    except DialogOpened:
        return _DIALOG
    except TimeoutError:
        return f"the page did not answer within {ANSWER_S:g} s"
    except NoTab:
        return "the page has been closed"
    except playwright_error() as error:  # of a page that is just going on to another, too
        return shorten(str(error).splitlines()[0], 300)


async def _find_lack(window: PlaywrightWindow, ready: Ready) -> str | None:
    page = window.page
    if ready.url is not None and not fnmatchcase(page.url, ready.url) and page.url != ready.url:
        return f"its address is not {ready.url!r}"
    if ready.text is not None:
        seen = await read_page_text(page, TEXT_LIMIT, ANSWER_S)
        if flatten(ready.text) not in flatten(seen.value):
            return f"the text {shorten(ready.text, 200)!r} is not on it"
    if ready.target is not None and not await locate(page, ready.target).filter(visible=True).count():
        return f"nothing that is visible matches the target {ready.target!r}"
    if ready.js is not None and not (value := await page.evaluate(ready.js)):
        return f"the value of {shorten(ready.js, 200)!r} is {value!r}"
    return None


async def _describe_page(window: PlaywrightWindow) -> str:
    parts = [shorten(window.url, 300)]
    if window.dialog is not None:
        return parts[0]
    try:
        parts.append(f"titled {shorten(await read_title(window.page, ANSWER_S), 100)!r}")
        text = flatten((await window.watch(read_page_text(window.page, 500, ANSWER_S), ANSWER_S)).value)
        parts.append(f"with the text {shorten(text, 300)!r}" if text else "without any text")
    except (DialogOpened, TimeoutError, NoTab, playwright_error()):
        parts.append("whose text cannot be read")
    return ", ".join(parts)
