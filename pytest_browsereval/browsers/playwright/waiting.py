"""Waiting for a page that may hang, end, or open a dialog instead of answering."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.errors import BrowserEvalError

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Page

T = TypeVar("T")

EVERY_S = 1.0
"""A call that takes longer has the browser asked, and again so long after each answer: most take less."""


class DialogOpened(BrowserEvalError):
    """A dialog opened while something was being done; that stays under way until it is answered."""


_NET_REASONS = {
    "ERR_ABORTED": "the page or a newer navigation stopped it",
    "ERR_CONNECTION_REFUSED": "nothing listens there",
    "ERR_INTERNET_DISCONNECTED": "there is no network",
    "ERR_NAME_NOT_RESOLVED": "there is no host with that name",
    "ERR_TOO_MANY_REDIRECTS": "its redirects never end",
}


def describe_unloaded(url: str, code: str) -> str:
    """Return why a page did not load, by the name that Chromium has for it."""
    reason = _NET_REASONS.get(code)
    return f"{shorten(url, 100)} did not load: {f'{reason} ({code})' if reason else code}."


def playwright_error() -> type[Exception]:
    """Return the base of Playwright's errors, for an ``except`` that imports it when something is raised."""
    from playwright.async_api import Error

    return Error


def is_closed_error(error: BaseException) -> bool:
    """Tell errors that say that a page, its context, the browser or the driver has gone."""
    text = str(error)
    return isinstance(error, playwright_error()) and (
        "has been closed" in text or "Connection closed" in text
    )


async def quietly(work: Awaitable[T], limit_s: float) -> T | None:
    """Await something that may fail in the browser or take too long; None if it did."""
    try:
        async with asyncio.timeout(limit_s):
            return await work
    except (TimeoutError, playwright_error()):
        return None


class DialogWatch:
    """The dialogs that are open in a window, and the work that they hold up.

    A page stands still while its dialog is open, and so does every call into it: work is therefore
    awaited no longer than until a dialog opens, and goes on by itself once that is answered.
    """

    def __init__(self) -> None:
        self.open: list[Dialog] = []
        """Those that wait for an answer, oldest first."""
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way: set[asyncio.Future[Any]] = set()

    def on_dialog(self, dialog: Dialog) -> None:
        """Hold a dialog that has just opened."""
        self.open.append(dialog)
        # A new future first: the one who wakes up may wait for the next dialog at once.
        opened, self._next = self._next, asyncio.get_running_loop().create_future()
        opened.set_result(None)

    def forget(self, page: Page) -> None:
        """Drop the dialogs of a page that has gone."""
        self.open = [dialog for dialog in self.open if dialog.page is not page]

    async def watch(self, work: Coroutine[Any, Any, T], limit_s: float) -> T:
        """Await work in the page, but no longer than until a dialog opens or the time is up.

        Raises:
            DialogOpened: the work goes on in the background once the dialog is answered.
            TimeoutError: it was cancelled.
        """
        task = asyncio.ensure_future(work)
        dialog = self._next
        try:
            await asyncio.wait((task, dialog), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                self._keep(task)
                # What a dialog holds up goes on once that is answered; anything else is given up.
                if not dialog.done():
                    task.cancel()
        if task.done():
            return task.result()
        if dialog.done():
            raise DialogOpened
        raise TimeoutError

    async def answer(self, *, accept: bool, text: str | None, limit_s: float) -> bool:
        """Answer the oldest open dialog, then let what it held up go on.

        Args:
            accept: OK or Cancel.
            text: what to type into a prompt; None leaves its default value.
            limit_s: how long to wait for what it held up.

        Returns:
            False if the dialog had gone already.

        Raises:
            LookupError: none is open.
        """
        if not self.open:
            raise LookupError("No dialog is open.")
        dialog = self.open.pop(0)
        # The answer itself may be under way in a watch of its own.
        held_up = list(self._under_way - {asyncio.current_task()})
        typed = dialog.default_value if text is None else text
        options = {"prompt_text": typed} if dialog.type == "prompt" else {}
        reply = dialog.accept(**options) if accept else dialog.dismiss()
        try:
            await asyncio.wait_for(reply, limit_s)
        except (TimeoutError, playwright_error()):
            return False
        if held_up:
            await asyncio.wait(held_up, timeout=limit_s)
        return True

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do something in the background; what it raises is nobody's business."""
        task = asyncio.get_running_loop().create_task(work)
        self._keep(task)
        return task

    def _keep(self, task: asyncio.Future[Any]) -> None:
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def end(self) -> None:
        """Cancel all that is under way."""
        self.open.clear()
        left = list(self._under_way)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1)


class Pace:
    """Measures, during a call, how long the browser needs for an answer that costs it nothing.

    A page may hang by its own fault. The browser does not wait for its pages: it needs milliseconds, and a
    second only where the machine, or the driver in between, has too much else to do. So the two can be told
    apart afterwards. Used as a context manager around the call.

    Args:
        ask: asks the browser something, and not a page.
    """

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self.slowest_s = 0.0
        """The longest that an answer took, or has taken so far; 0 when nothing was asked."""
        self._ask = ask
        self._is_over = False
        self._asking: asyncio.Task[None] | None = None
        self._asked_at: float | None = None

    def __enter__(self) -> Pace:
        self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._begin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._is_over = True
        if self._asking is not None and self._asked_at is None:
            self._asking.cancel()
        self._note()  # also of an answer that is still to come: given up, its error would be nobody's

    def _begin(self) -> None:
        self._asking = asyncio.get_running_loop().create_task(self._measure())

    async def _measure(self) -> None:
        while True:
            self._asked_at = time.monotonic()
            try:
                await self._ask()
            except Exception:  # noqa: BLE001 it has gone, or will not tell: the call finds out by itself
                self._asked_at = None
                return
            self._note()
            if self._is_over:
                return
            await asyncio.sleep(EVERY_S)

    def _note(self) -> None:
        if self._asked_at is not None:
            self.slowest_s = max(self.slowest_s, time.monotonic() - self._asked_at)
            self._asked_at = None
