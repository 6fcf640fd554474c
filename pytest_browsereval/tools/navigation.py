"""Navigation: addresses, history, waiting."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import Annotated
from urllib.parse import urljoin, urlsplit

from pydantic import Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.downloads import is_download
from pytest_browsereval.browsers.playwright.origins import origin_of, shorten
from pytest_browsereval.browsers.playwright.page_text import PageText, read_page_text, read_title
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Refusal, Tool, tool
from pytest_browsereval.tools.display import READ_LENGTH, describe_gap
from pytest_browsereval.tools.targets import Target, ref_of, resolve
from pytest_browsereval.tools.toolkit import Policy, Toolkit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(?=[/?#:]|$)")
_PAGE = re.compile(
    r"\.(aspx?|cgi|csv|gif|html?|jpe?g|jsp|json|md|pdf|php|png|svg|txt|webp|xhtml|xml)$", re.IGNORECASE
)
"""How names of files end; that of a host may look alike: `shop.example`."""
POLL_S = 0.1
_UNSEEN = re.compile("[\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
Url = Annotated[str, Field(max_length=8000, description="Absolute (https://…), or relative to the page.")]


def check_url(window: PlaywrightWindow, url: str) -> str:
    """Return the absolute address of what an agent asks for.

    Raises:
        Refusal: it is not a web address, or not an allowed one.
    """
    given, url = url, url.strip()
    # An empty tab has no address that a relative one could belong to.
    if url and not _SCHEME.match(url) and urlsplit(window.url).scheme in ("http", "https"):
        host = _HOST.match(url)
        if host is None or _PAGE.search(host[0]):
            url = urljoin(window.url, url)
    if url == "about:blank":
        return url
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Refusal(f"{shorten(given, 80)!r} is not an address: {error}.") from None
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
        raise Refusal(f"{shorten(given, 80)!r} cannot be opened. Write an address with http:// or https://.")
    if not window.rules.allowed.allow(url):
        raise Refusal(f"{shorten(origin_of(url), 80)} cannot be opened: it is not among the allowed origins.")
    return url


async def open_url(window: PlaywrightWindow, url: str) -> str:
    """Navigate the current tab and tell where it is then."""
    try:
        await window.goto(check_url(window, url))
    except playwright_error() as error:
        if is_download(error):
            window.downloads.expect(may_have_begun=True)
            return "The address is a download, and the page stays as it was."
        raise
    return await _describe_arrival(window, "Opened")


async def _describe_arrival(window: PlaywrightWindow, did: str) -> str:
    title = shorten(await read_title(window.page, window.rules.title_s), 60)
    return f"{did} {shorten(window.url)}, titled {title!r}."


@tool(may_take_long=True, sets_off="", holds_value="url")
async def navigate(window: PlaywrightWindow, url: Url) -> str:
    """Open an address in the current tab."""
    return await open_url(window, url)


@tool(may_take_long=True, sets_off="")
async def go_back(window: PlaywrightWindow) -> str:
    """Go back to the page before this one in the tab's history."""
    return await _through_history(window, "back")


@tool(may_take_long=True, sets_off="")
async def go_forward(window: PlaywrightWindow) -> str:
    """Go forward again after going back."""
    return await _through_history(window, "forward")


async def _through_history(window: PlaywrightWindow, way: str) -> str:
    page = window.page
    go = page.go_back if way == "back" else page.go_forward
    url = page.url
    response = await go(wait_until="domcontentloaded")
    # Playwright returns None at the end of the history, but for steps within a document as well.
    if response is None and page.url == url:
        raise Refusal(f"There is no page to go {way} to.")
    return await _describe_arrival(window, f"Went {way} to")


@tool(may_take_long=True, sets_off="")
async def reload(window: PlaywrightWindow) -> str:
    """Load the current page again."""
    url = window.page.url
    # A page that has crashed or hangs cannot be reloaded: the address is opened in a new one.
    if await window.revive():
        await window.goto(url)
    else:
        await window.page.reload(wait_until="domcontentloaded")
    return await _describe_arrival(window, "Reloaded")


@tool(may_take_long=True, needs_page=False)
async def wait(
    window: Window, seconds: Annotated[float, Field(ge=0, le=30, description="From 0 to 30.")]
) -> str:
    """Do nothing for some seconds. Prefer wait_for_text where you know what will appear."""
    del window
    await asyncio.sleep(seconds)
    return f"Waited {seconds:g} s."


@tool(may_take_long=True, sets_off="", holds_value="text")
async def wait_for_text(
    window: PlaywrightWindow,
    text: Annotated[
        str | None, Field(min_length=1, max_length=1000, description="Upper and lower case are the same.")
    ] = None,
    timeout_s: Annotated[float, Field(ge=0, le=120, description="From 0 to 120.")] = 5.0,
    target: Target | None = None,
    gone: Annotated[bool, Field(description="Wait until it is not there any more.")] = False,  # noqa: FBT002
) -> str:
    """Wait until a text is on the page, or in a target: one that snapshot or read_text would show.

    Without a text it waits for the target itself.
    """
    if text is None and target is None:
        raise Refusal("Give a text, a target, or both.")
    named = repr(shorten(text, 80)) if text else shorten(str(target), 80)
    where = f"in {shorten(target, 80)}" if text and target else "on the page"
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while True:
        begun = loop.time()
        seen = await _read(window, target, max(deadline - begun, window.rules.action_s))
        is_there = seen is not None and _flatten(text or "") in _flatten(seen.value)
        if is_there is not gone and (is_there or seen is None or seen.is_whole):
            return f"{named} is {where}." if is_there else f"{named} is not {where}."
        now = loop.time()
        if now >= deadline:
            gap = f" {describe_gap(seen)}" if seen is not None and not seen.is_whole else ""
            late = f"is still {where} after" if is_there else f"did not appear {where} within"
            raise Refusal(f"{named} {late} {timeout_s:g} s.{gap}")
        # A page that takes long to be read is read less often.
        await asyncio.sleep(min(max(POLL_S, 2 * (now - begun)), deadline - now))


async def _read(window: PlaywrightWindow, target: str | None, limit_s: float) -> PageText | None:
    """Return the text of the page, or of a target; None if nothing of that is seen."""
    if target is None:
        return await read_page_text(window.page, READ_LENGTH, limit_s)
    element = resolve(window, target)
    if (ref := ref_of(target)) is not None:
        window.check_ref(ref)
    if await element.count() == 0 or not await element.is_visible():
        return None
    try:
        return await read_page_text(element, READ_LENGTH, min(limit_s, window.rules.action_s))
    except playwright_error():
        if await element.count():
            raise
        return None  # it has gone meanwhile


def _flatten(text: str) -> str:
    # As graders see texts: marks of direction and letters of several characters make no difference.
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold().split())


TOOLS: tuple[Tool, ...] = (navigate, go_back, go_forward, reload, wait, wait_for_text)

KIT = Toolkit(
    "navigation",
    "Addresses, history, waiting",
    TOOLS,
    policy=(
        Policy(
            "Open only addresses that the task gives or that a page shows; never make one up.", ("navigate",)
        ),
        Policy(
            "When the page has to finish something, `wait_for_text` waits no longer than it has to; "
            "a fixed `wait` is a guess.",
            ("wait_for_text", "wait"),
        ),
    ),
    absent="You cannot open addresses or go back. Links and buttons of the page are the only way on.",
)
"""Its policy stands here, next to the tools."""
