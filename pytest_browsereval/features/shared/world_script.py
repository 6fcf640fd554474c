"""A script that listens out of reach of pages: in a world of its own, in every document of a context."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error, quietly

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Frame, Page

_ANSWER_S = 2.0
"""How long an open document may take to answer."""

_numbers = itertools.count(1)


class WorldScript:
    """A script that runs apart in each document of a context: those that are open, and those that come.

    Args:
        context: where the pages are.
        script: a function in JavaScript. It gets a function that reports a JSON value.
        heard: called with what is reported. No page can call it.
        events: what else to call of the DevTools protocol's events, by name.
    """

    def __init__(
        self,
        context: BrowserContext,
        script: str,
        heard: Callable[[Any], object],
        events: Mapping[str, Callable[[dict[str, Any]], None]] | None = None,
    ) -> None:
        self._context, self._heard, self._events = context, heard, events or {}
        self._name = f"browsereval{next(_numbers)}"
        report = f"(value) => globalThis.{self._name}(JSON.stringify(value))"
        # A document may get it twice: a frame whose process changes.
        is_new = f"!globalThis.{self._name}Runs && (globalThis.{self._name}Runs = true)"
        self._sources = [f"if ({is_new}) ({script})({report});"]
        self._sessions: dict[Page | Frame, CDPSession] = {}
        self._attaching: set[asyncio.Task[None]] = set()
        self._missed = ""

    async def begin(self) -> None:
        """Run it from now on."""
        self._context.on("page", self._attach_later)
        await asyncio.gather(*map(self._attach, self._context.pages))

    async def add(self, script: str) -> None:
        """Run another script, a statement, in the same world of all documents that come."""
        self._sources.append(script)
        sending = (_add(one, script, self._name, is_now=False) for one in self._sessions.values())
        await asyncio.gather(*(quietly(one, _ANSWER_S) for one in sending))

    async def settle(self) -> None:
        """Wait until the pages that have come run it, and what was reported up to now has been heard."""
        if self._attaching:  # a dialog holds up some until it is answered
            await asyncio.wait(self._attaching, timeout=_ANSWER_S)
        await asyncio.gather(*(quietly(_await_reports(one), _ANSWER_S) for one in self._sessions.values()))

    @property
    def missed(self) -> str:
        """Why an open page is not listened to; empty if all are."""
        return self._missed or ("a page does not answer" if self._attaching else "")

    def _attach_later(self, page: Page, frame: Frame | None = None) -> None:
        task = asyncio.get_running_loop().create_task(self._attach(page, frame))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _attach(self, page: Page, frame: Frame | None = None) -> None:
        """Run it in a page, or in a frame that has a process of its own."""
        place = frame or page
        try:
            if place in self._sessions:
                await self._sessions[place].send("Target.getTargetInfo")
                return
        except playwright_error():  # the frame has left its process
            self._sessions.pop(place, None)
        if frame is None:
            page.on("framenavigated", self._on_navigated)
        try:
            self._sessions[place] = await self._open(place)
        except playwright_error() as error:
            if frame is None and not page.is_closed() and not is_closed_error(error):
                self._missed = self._missed or str(error).partition("\n")[0]

    def _on_navigated(self, frame: Frame) -> None:
        if frame.parent_frame is not None:
            self._attach_later(frame.page, frame)

    async def _open(self, place: Page | Frame) -> CDPSession:
        session = await self._context.new_cdp_session(place)
        session.on("Runtime.bindingCalled", self._on_called)
        for event, call in self._events.items():
            session.on(event, call)
        named = {"name": self._name, "executionContextName": self._name}
        await session.send("Page.enable")
        await session.send("Runtime.enable")
        await session.send("Runtime.addBinding", named)
        for source in reversed(self._sources):
            await _add(session, source, self._name)
        return session

    def _on_called(self, event: dict[str, Any]) -> None:
        if event["name"] == self._name:
            self._heard(json.loads(event["payload"]))


async def _await_reports(session: CDPSession) -> None:
    await session.send("Runtime.evaluate", {"expression": "0"})  # what it reports comes before its answer


async def _add(session: CDPSession, source: str, world: str, *, is_now: bool = True) -> None:
    given = {"source": source, "worldName": world, "runImmediately": is_now}
    await session.send("Page.addScriptToEvaluateOnNewDocument", given)
