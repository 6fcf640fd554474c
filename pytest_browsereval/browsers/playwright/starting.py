"""Opens the start page of a window."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_browsereval.addresses import is_local
from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.downloads import is_download
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.errors import ErrorSource, Fault

if TYPE_CHECKING:
    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

START_SCHEMES = ("http", "https", "about", "data")


async def go_to_start(window: PlaywrightWindow, request: WindowRequest) -> None:
    """Load the start page and run the setup script.

    Raises:
        Fault: source *navigation*: the page cannot be loaded, or the script fails; source *browser*: it died.
    """
    url, limit_s = request.start_url, window.rules.navigation_s + window.rules.load_s
    if url and urlsplit(url).scheme not in START_SCHEMES:
        raise Fault(
            ErrorSource.NAVIGATION,
            f"start_url is {url!r}. Allowed: {', '.join(START_SCHEMES)}. Serve files with a site: "
            "`sites: {name: {static: FOLDER}}` and `{name}/page.html`.",
        )
    awaited = f"{url} did not answer"
    try:
        if url:
            await window.watch(_load(window, url), limit_s)
        if request.setup_script:
            awaited = f"The setup_script of {window.url} did not end"
            await window.watch(_set_up(window, request.setup_script), limit_s)
    except DialogOpened:
        return  # the agent's to answer, as any other
    except TimeoutError:
        raise Fault(ErrorSource.NAVIGATION, f"{awaited} within {limit_s:g} s.") from None
    except playwright_error() as error:
        # Playwright tells first that the page has gone, and the cause is the browser.
        if window.dead:
            raise Fault(ErrorSource.BROWSER, window.dead) from error
        why = plainly(error)
        if url and "ERR_CONNECTION_REFUSED" in why and is_local(url):
            why += (
                ". Nothing listens there. Start the app first, or have the run start it: `sites: {app: "
                "{command: [npm, start]}}` in the config and `{app}/` in the row."
            )
        raise Fault(ErrorSource.NAVIGATION, f"{url}: {why}") from error


def plainly(error: Exception) -> str:
    """Return what went wrong without Playwright's names and its log."""
    said, _, _ = str(error).partition("\nCall log:")
    return shorten(re.sub(r"^\w+\.\w+: ", "", said), 300)


async def _load(window: PlaywrightWindow, url: str) -> None:
    first = window.tab_id
    try:
        await window.goto(url)
    except playwright_error() as problem:
        if not is_download(problem):
            raise
        window.downloads.expect(may_have_begun=True)
        window.say("The start page is a file, which was downloaded: the tab is empty.")
    await window.settle()
    # An attempt on an error page would blame the agent for what the site did; a pop-up is not the start page.
    if (error := window.error_of(first)) is not None:
        raise Fault(
            ErrorSource.SITE if error.is_of_server else ErrorSource.NAVIGATION, f"The start page {error}."
        )


async def _set_up(window: PlaywrightWindow, script: str) -> None:
    try:
        await window.page.evaluate(script)
    except playwright_error() as error:
        if window.dead:
            raise
        why = f"The setup_script of {window.url} failed: {plainly(error)}"
        raise Fault(ErrorSource.NAVIGATION, why) from error
    await window.settle()
