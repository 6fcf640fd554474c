"""Reading a live page when the agent has stopped: values, text, roles, storage, and a site's own state.

What the page throws differs from what cannot be read: a :class:`NoValue` belongs to the page, a
fault to us. Everything read is plain JSON, within limits of size, depth and time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.browsers.playwright.page_text import read_page_text
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import Fault
from pytest_browsereval.feature import list_features
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.page_values import LIMIT_CHARS, NoValue, make_plain, read_value, send
from pytest_browsereval.graders.values import TEXT_LIMIT, show
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Frame, Locator, Page

T = TypeVar("T")

READ_LIMIT_S = 5.0
"""For one reading of the page, and for one request of a site's state."""
STATE_LIMIT_BYTES = LIMIT_CHARS
POLL_S = 0.2
MAX_DIALOGS = 10

PAGE_KEYS = (
    *("url", "title", "text", "role", "js", "storage"),
    *(key for feature in list_features().values() for key in feature.checks),
)
"""The keys of which a check of `page_state` holds exactly one; a row's other checks are of the state."""
STORAGES = {"local": "localStorage", "session": "sessionStorage"}

_WORLD = "browsereval"


def parse_state(text: str | bytes) -> JsonValue:
    """Return the JSON value that a text is.

    Raises:
        NoValue: it is none, or not one that can be recorded.
    """
    try:
        return make_plain(json.loads(text))
    except (ValueError, RecursionError) as error:
        whole = text if isinstance(text, str) else text.decode(errors="replace")
        raise NoValue(f"{show(beginning(whole, 80))} is not JSON: {error}") from None


def parse_stored(text: JsonValue) -> JsonValue:
    """Return the JSON value that a stored text is, the text itself where it is none."""
    if not isinstance(text, str):
        return text
    try:
        return parse_state(text)
    except NoValue:
        return text


def check_place(place: str) -> None:
    """Refuse what names no storage.

    Raises:
        ValueError: with what to write.
    """
    kind, _, key = place.partition(":")
    if kind not in STORAGES or not key:
        raise ValueError(f"the storage {place!r} is unknown; write local:KEY or session:KEY.")


@asynccontextmanager
async def live_page(window: Window) -> AsyncIterator[LivePage]:
    """Open the window's current page for reading; a dialog that the agent left open is dismissed.

    Where the agent has closed its last page an empty one is read: that is its own doing, and no fault.

    Raises:
        Fault: source *grader*, when there is no page that can be read.
    """
    if not isinstance(window, PlaywrightWindow):
        raise GraderFault(
            f"a {type(window).__name__} has no page that can be read. Use a browser of the type playwright "
            "or cdp, or a grader that needs no live page"
        )
    if window.dead:
        raise GraderFault(f"the page is gone: {window.dead}")
    # A page may open the next dialog from the handler of the last one, and do so forever.
    for _ in range(MAX_DIALOGS):
        if window.dialog is not None:
            await window.answer_dialog(accept=False)
    # An agent that closed its last tab has left no page, which is for the checks to judge.
    await window.reopen()
    try:
        page = window.page
    except NoTab:
        raise GraderFault("the window has no page left to read") from None
    session = await read_in_time(window, "the page", window.cdp_session(page))
    yield LivePage(window, page, session)


async def read_in_time(window: PlaywrightWindow, what: str, work: Coroutine[Any, Any, T]) -> T:
    """Return what a reading of the page comes to.

    Raises:
        Fault: source *grader*: the page does not answer, is gone, or opens a dialog.
    """
    try:
        return await window.watch(work, READ_LIMIT_S)
    except DialogOpened:
        reason = "opened a dialog while it was read"
    except TimeoutError:
        reason = f"did not answer within {READ_LIMIT_S:g} s"
    except NoTab:
        reason = "has been closed"
    except playwright_error() as error:
        reason = f"cannot be read: {beginning(str(error).splitlines()[0], 200)}"
    raise GraderFault(f"{what} {reason}")


def describe_broken(window: Window) -> str:
    """Return what a server that broke answered instead of the current page; "" if it is a page of its own."""
    error = window.page_error
    return str(error) if error is not None and error.is_of_server else ""


def list_own_frames(page: Page) -> list[Frame]:
    """Return the frames of a page but those of other sites: advertisements say nothing of the page."""
    origin = origin_of(page.url)
    return [f for f in list(page.frames) if f.url.startswith("about:") or origin_of(f.url) == origin]


def find_role(page: Page, role: Any, name: str | None) -> list[Locator]:
    """Return what finds the visible elements of a role and an exact accessible name, by frame."""
    frames = list_own_frames(page)
    return [frame.get_by_role(role, name=name, exact=True).filter(visible=True) for frame in frames]


class LivePage:
    """One page, open for reading; see :func:`live_page`.

    Raises:
        Fault: source *grader*, by every method: the page does not answer or is gone.
    """

    def __init__(self, window: PlaywrightWindow, page: Page, session: CDPSession) -> None:
        self._window = window
        self._page = page
        self._session = session

    async def _read(self, what: str, work: Coroutine[Any, Any, T]) -> T:
        return await read_in_time(self._window, what, work)

    async def _send(self, what: str, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return the result object of its reply."""
        return await self._read(what, send(self._session, method, **params))

    # -- values

    @property
    def url(self) -> str:
        """The page's address."""
        return self._page.url

    async def value(self, expression: str) -> JsonValue:
        """Return the JSON value of an expression in the page; undefined is null, functions are called.

        Raises:
            NoValue: it throws, its value is not JSON, or the page is a broken server's.
        """
        if broken := describe_broken(self._window):
            raise NoValue(broken)
        return await self._evaluate(f"the expression {show(expression, 120)}", expression)

    async def _evaluate(self, what: str, expression: str, **params: Any) -> JsonValue:
        limit_ms = READ_LIMIT_S * 1000
        reply = await self._send(
            what, "Runtime.evaluate", expression=expression, awaitPromise=True, timeout=limit_ms, **params
        )
        return await self._read(what, read_value(self._session, reply["result"]))

    async def isolated_value(self, expression: str) -> JsonValue:
        """Return the JSON value of an expression about the document, out of reach of the page's scripts.

        Raises:
            NoValue: it throws, or its value is not JSON.
        """
        what = f"the expression {show(expression, 120)}"
        tree = await self._send(what, "Page.getFrameTree")
        frame_id = tree["frameTree"]["frame"]["id"]
        world = await self._send(what, "Page.createIsolatedWorld", frameId=frame_id, worldName=_WORLD)
        return await self._evaluate(what, expression, contextId=world["executionContextId"])

    async def title(self) -> str:
        """Return the document's title."""
        return str(await self.isolated_value("document.title"))

    async def text(self) -> dict[str, JsonValue]:
        """Return ``{value, cut}``: what ``snapshot`` and ``read_text`` see, up to 100,000 characters."""
        work = read_page_text(self._page, TEXT_LIMIT, READ_LIMIT_S)
        seen = await self._read("the page's text", work)
        return {"value": make_plain(seen.value), "cut": not seen.is_whole}

    async def count_role(self, role: str, name: str | None) -> int:
        """Return how many visible elements have that role and exact accessible name, frames included."""
        found = find_role(self._page, role, name)
        return sum([await self._read(f"the role {role!r}", one.count()) for one in found])

    # -- storage

    async def read_storage(self, place: str, homes: Iterable[str]) -> str | None:
        """Return a value of the page's storage, or of the storage of its homes if the page has no such key.

        Args:
            place: ``local:KEY`` or ``session:KEY``.
            homes: URLs of the sites that may have stored it; an agent may have left them.

        Raises:
            NoValue: the storage cannot be read from where the page is now.
        """
        kind, _, key = place.partition(":")
        here = origin_of(self._page.url)
        # The agent may have left the site; local storage of an origin can be read from elsewhere.
        origins = dict.fromkeys(origin_of(url) for url in homes if urlsplit(url).scheme in ("http", "https"))
        others = [origin for origin in origins if origin != here]
        is_out_of_reach = kind == "session" and here not in origins
        problem = None
        try:
            value = await self.isolated_value(f"{STORAGES[kind]}.getItem({json.dumps(key)})")
            if value is not None:
                return str(value)
        except NoValue as error:
            problem = error
        if others and kind == "local":
            return await self._read_storage_elsewhere(place, key, others)
        if others and is_out_of_reach:
            raise NoValue(f"the page is at {here}, where the session storage of {others[0]} is out of reach")
        if problem:
            raise problem
        return None

    async def _read_storage_elsewhere(self, place: str, key: str, origins: list[str]) -> str | None:
        state = await self._read(place, self._window.context.storage_state())
        found = {
            entry["origin"]: item["value"]
            for entry in state.get("origins", [])
            for item in entry["localStorage"]
            if item["name"] == key
        }
        value = next((found[origin] for origin in origins if origin in found), None)
        return None if value is None else str(make_plain(value))


# -- the site's own state


async def fetch_state(window: Window, url: str) -> JsonValue:
    """Return the JSON that a URL answers with, asked with the window's cookies where it shows them.

    Raises:
        NoValue: it answers with something else.
        Fault: source *grader*: it does not answer, or the window is gone.
    """
    if not isinstance(window, PlaywrightWindow):
        return await fetch_json(url, {})
    async with live_page(window):
        cookies = await read_in_time(window, "the cookies", window.context.cookies([url]))
    return await fetch_json(url, {str(cookie["name"]): str(cookie["value"]) for cookie in cookies})


async def fetch_json(url: str, cookies: dict[str, str], limit_bytes: int = STATE_LIMIT_BYTES) -> JsonValue:
    """Return the JSON that a URL answers with.

    Raises:
        NoValue: it answers with something else, too much, or another status than 200.
        Fault: source *grader*: it does not answer.
    """
    import httpx

    header = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
    body = bytearray()
    try:
        async with (
            asyncio.timeout(READ_LIMIT_S),
            # A proxy of the environment would be asked for a site on this machine.
            # To load the certificates takes 25 ms, which a site on this machine does not need.
            httpx.AsyncClient(trust_env=False, verify=url.startswith("https:")) as client,
            client.stream("GET", url, headers=header) as response,
        ):
            if response.status_code != 200:
                raise NoValue(f"{url} answers with status {response.status_code}, not 200")
            # Chunk by chunk: a state without an end would fill the memory before a limit on the whole is met.
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > limit_bytes:
                    raise NoValue(f"{url} answers with more than {limit_bytes} bytes")
    except TimeoutError:
        raise GraderFault(f"{url} did not answer within {READ_LIMIT_S:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        raise GraderFault(f"{url} cannot be read: {why}") from None
    return parse_state(bytes(body))


async def wait_until_final(
    look: Callable[[], Coroutine[Any, Any, T]], is_final: Callable[[T], bool], wait_s: float
) -> T:
    """Look at the page until what is seen is final, or for so long; return the last look.

    An agent may stop while its last click is still at work. A reading that breaks is tried again too.

    Args:
        look: reads the page.
        is_final: whether there is nothing to wait for; runs in a thread. What cannot be judged is final.
        wait_s: how long to look again.

    Raises:
        Fault: the last look broke.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    while True:
        is_over = loop.time() >= deadline
        try:
            seen = await look()
        except Fault:
            if is_over:
                raise
        else:
            try:
                # In a thread, since the checks may hold slow patterns.
                if is_over or await asyncio.to_thread(is_final, seen):
                    return seen
            except Fault:
                return seen
        await asyncio.sleep(POLL_S)
