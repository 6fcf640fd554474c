"""Keeps windows' clipboards apart: a browser has one for all of its contexts.

A page that is about to copy, cut or paste stops in a question of ours, a dialog that nobody sees, until the
clipboard holds what its own window has copied. So it does not matter whether a tool presses keys, an agent's
code does or the page calls ``execCommand`` or ``navigator.clipboard``. Others wait for that one action; who
copies nothing pays nothing.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pytest_browsereval.browsers.playwright.waiting import playwright_error, quietly

if TYPE_CHECKING:
    from playwright.async_api import Browser, ConsoleMessage, Dialog, Page

    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

Content = list[list[str]]
"""Media types, each with its text."""

LIMIT_S = 10.0
"""How long a page may wait at most until the clipboard is its window's own; an exchange takes some 0.1 s."""
ACTION_SHARE = 0.8
"""Part of an action's time that the wait may take. Were it longer than the action's, the tool would say that
the page did not react, and the agent would fail for what only a slow machine did."""
HOLD_S = 1.0
"""How long a page may take for its action, which is done in milliseconds unless it hangs or is left."""

QUESTION = f"browsereval {secrets.token_hex(16)}"
"""Pages do not know it, so that none can ask it by itself."""
DOWNLOAD = f"{QUESTION} download"
"""What a page asks when a link is clicked that downloads; before its server answers nothing else tells."""
DONE = f"browsereval has done it {secrets.token_hex(16)}"
"""What a page's console says after the action. A second dialog would swallow the next key that is pressed."""

WATCH = Path(__file__).with_name("clipboard.js").read_text(encoding="utf-8")
for _name, _value in (("DONE", DONE), ("QUESTION", QUESTION), ("HOLD_MS", f"{HOLD_S * 800:g}")):
    WATCH = WATCH.replace(_name, _value)
"""Runs in every document before the page's own scripts. In a sandboxed frame that may open no dialogs,
nothing can be copied or pasted."""

_WRITE = """((data) => {
  addEventListener('copy', (event) => {
    event.preventDefault();
    for (const [type, text] of data) event.clipboardData.setData(type, text);
  }, {once: true});
  return document.execCommand('copy');
})(%s)"""
_READ = """() => addEventListener('paste', (event) => {
  event.preventDefault();
  window.pasted = [...event.clipboardData.types].map((type) => [type, event.clipboardData.getData(type)]);
}, {once: true})"""
_EMPTY: Content = [["text/plain", ""]]


class SharedClipboard:
    """The clipboard of a browser, which holds what the window has copied that used it last.

    Args:
        browser: the one whose clipboard it is.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._owner: PlaywrightWindow | None = None
        self._kept: dict[PlaywrightWindow, Content] = {}
        """What windows had copied that have used it before."""
        self._heard: WeakSet[Page] = WeakSet()
        """Pages whose consoles are listened to."""
        self._turn = asyncio.Lock()
        self._holder: PlaywrightWindow | None = None
        """The window that copies or pastes right now."""
        self._timer: asyncio.TimerHandle | None = None

    def forget(self, window: PlaywrightWindow) -> None:
        """Drop what a window has copied: it has closed, and nobody may paste it any more."""
        self._kept.pop(window, None)
        if self._owner is window:
            self._owner = None
        self._end_turn(window)

    async def answer(self, window: PlaywrightWindow, question: Dialog) -> None:
        """Let a page of a window copy or paste once the clipboard is the window's own."""
        self._listen(window, question.page)
        try:
            async with asyncio.timeout(min(LIMIT_S, ACTION_SHARE * window.rules.action_s)):
                await self._begin_turn(window)
        except (TimeoutError, playwright_error()) as error:
            window.mark_dead(f"The clipboard could not be isolated from other attempts: {error!r:.200}")
            await quietly(question.dismiss(), LIMIT_S)
        else:
            await quietly(question.accept(), LIMIT_S)

    def _listen(self, window: PlaywrightWindow, page: Page | None) -> None:
        """Have a page's console end the turn of its window."""
        if page is None or page in self._heard:
            return  # without it the turn ends by its time
        self._heard.add(page)

        def on_console(message: ConsoleMessage) -> None:
            if message.text == DONE:
                self._end_turn(window)

        page.on("console", on_console)

    async def _begin_turn(self, window: PlaywrightWindow) -> None:
        if self._holder is not window:
            await self._turn.acquire()
            self._holder = window
        try:
            if self._owner is not window:
                await self._hand_to(window)
        except BaseException:
            self._end_turn(window)
            raise
        self._end_later(window)

    def _end_later(self, window: PlaywrightWindow) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(HOLD_S, self._end_turn, window)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_turn(self, window: PlaywrightWindow) -> None:
        if self._holder is window:
            self._stop_timer()
            self._holder = None
            self._turn.release()

    async def _hand_to(self, window: PlaywrightWindow) -> None:
        async with self._page(window) as page:
            if self._owner is not None:
                self._kept[self._owner] = await _read(page)
            self._owner = None  # should the exchange be cut off, nobody can tell whose it is
            await _write(page, self._kept.pop(window, _EMPTY) or _EMPTY)
        self._owner = window

    @asynccontextmanager
    async def _page(self, window: PlaywrightWindow) -> AsyncIterator[Page]:
        """Open a page of ours next to those of the window, for one exchange."""
        if window.place.is_guest:
            page = await window.context.new_page()
            try:
                yield page
            finally:
                await quietly(page.close(), LIMIT_S)
            return
        context = await self._browser.new_context()
        try:
            yield await context.new_page()
        finally:
            await quietly(context.close(), LIMIT_S)


async def _read(page: Page) -> Content:
    await page.evaluate(_READ)
    await page.keyboard.press("ControlOrMeta+V")
    content: Content = await page.evaluate("window.pasted ?? []")
    return content


async def _write(page: Page, content: Content) -> None:
    session = await page.context.new_cdp_session(page)
    script: dict[str, Any] = {"expression": _WRITE % json.dumps(content), "userGesture": True}
    await session.send("Runtime.evaluate", script)
