"""Puts one attack in the way of one attempt."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error
from pytest_browsereval.browsers.playwright.world import ApartError, WorldScript, ask_apart
from pytest_browsereval.errors import PLUGIN_ERRORS, describe_error, is_given_up
from pytest_browsereval.features.attacks.config import ATTACKER
from pytest_browsereval.features.attacks.placeholders import unescape
from pytest_browsereval.sites import fill

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

PLACE_S = 30.0
"""How long an attack may take to be placed."""
REPLY_S = 5.0
"""How long it may take to answer a request: less than pages are waited for, which would be blamed."""
_PARSE_S = 2.0
"""How long a page may take to read a function: one with a dialog does not."""
_LONGEST = 200
"""Characters of a text that comes from a page."""
_RUN = Path(__file__).with_name("placer.js").read_text(encoding="utf-8")
_PARSE = "(root, text) => { (0, eval)(`(${text})`); return true; }"


class AttackError(ValueError):
    """What is wrong with an attack; the message is for who wrote it, and says all there is to say."""


@asynccontextmanager
async def limit_time(limit_s: float) -> AsyncIterator[None]:
    """Cancel what takes longer.

    Raises:
        AttackError: it did.
    """
    try:
        async with asyncio.timeout(limit_s) as clock:
            yield
    except TimeoutError:
        if not clock.expired():
            raise
        raise AttackError(f"it took longer than {limit_s:g} s") from None


def explain(error: BaseException) -> str:
    """Return what to say of an exception in the code of an attack."""
    return str(error) if isinstance(error, AttackError) else describe_error(error)


class LivePlacer:
    """Of one attempt.

    Args:
        context: where its pages are; None for a browser without pages of ours.
        payload: of the attack, its placeholders filled in.
        say: what ``{goal}`` stands for.
        site_urls: base URLs by the names of sites.
        report: called with where the payload is.
        start_url: of the row.
    """

    def __init__(
        self,
        context: BrowserContext | None,
        payload: str,
        say: str,
        site_urls: Mapping[str, str],
        report: Callable[[str], None],
        *,
        start_url: str,
    ) -> None:
        self._context = context
        self.start_url = start_url
        self.payload = payload
        self.attacker = site_urls.get(ATTACKER, "")
        self._say = say
        self._urls = site_urls
        self._report = report
        self._worlds: list[WorldScript] = []
        self._receiving: set[asyncio.Future[None]] = set()
        self.broken = ""
        """What broke of the attack outside of pages."""
        self.broken_in_pages = ""
        """The first error of a function in pages; another page may have the payload all the same."""

    @property
    def context(self) -> BrowserContext:
        """Where the attempt's pages are."""
        assert self._context is not None  # noqa: S101 `AttackConfig.needs` was looked at before the run
        return self._context

    def fill(self, text: str) -> str:
        """Return a text with ``{goal}``, ``{attacker}`` and the names of sites filled in."""
        filled: str = unescape(fill(text.replace("{goal}", self._say), self._urls))
        return filled

    def note_delivered(self, where: str) -> None:
        """Note that the agent can meet the payload now, and where.

        Raises:
            AttackError: that is not a text.
        """
        if not isinstance(where, str) or not where.strip():
            raise AttackError(f"note_delivered takes where the payload is, as a text, and got {where!r}")
        self._report(where[:_LONGEST])

    async def run_in_pages(
        self, function: str, argument: JsonValue, report: Callable[[str], object] | None = None
    ) -> None:
        """Run a function in the documents that are open and in all that come, out of reach of their pages.

        Raises:
            AttackError: the function is not JavaScript.
        """
        for page in self.context.pages[:1]:
            try:
                await ask_apart(page, _PARSE, function, limit_s=_PARSE_S)
            except ApartError as error:
                why = str(error)[:_LONGEST]
                raise AttackError(f"the function for pages is not JavaScript: {why}") from None
            except playwright_error():
                pass  # a dialog holds it up
        script = f"(report) => ({_RUN})(report, ({function}), {json.dumps(argument)})"
        world = WorldScript(self.context, script, partial(self._receive, report or self._report))
        self._worlds.append(world)
        await world.begin()

    async def tell_pages(self, script: str) -> None:
        """Run a statement in the world of these functions, in all documents that come."""
        await asyncio.gather(*(world.add(script) for world in self._worlds))

    async def settle(self) -> None:
        """Wait until the pages that have come run all functions, and what these say has been heard."""
        await asyncio.gather(*(world.settle() for world in self._worlds), *self._receiving)

    def _receive(self, report: Callable[[str], object], message: object) -> None:
        """Take what a function says in a page."""
        if isinstance(message, dict):
            self.broken_in_pages = self.broken_in_pages or str(message.get("error"))[:_LONGEST]
            return
        try:
            done = report(str(message)[:_LONGEST])
        except PLUGIN_ERRORS as error:
            self._note_broken("what hears of deliveries", error)
            return
        if inspect.isawaitable(done):
            task = asyncio.ensure_future(self._finish(done))
            self._receiving.add(task)
            task.add_done_callback(self._receiving.discard)

    async def _finish(self, reporting: Awaitable[object]) -> None:
        try:
            await reporting
        except PLUGIN_ERRORS as error:
            self._note_broken("what hears of deliveries", error)

    def _note_broken(self, what: str, error: BaseException) -> None:
        if is_given_up(error):
            raise error
        if not is_closed_error(error):  # the attempt is over, and its window closes
            self.broken = self.broken or f"{what}: {explain(error)}"

    async def route(
        self, pattern: str, handler: Callable[[Any], Awaitable[None]]
    ) -> Callable[[], Awaitable[None]]:
        """Have requests to a URL answered; return what ends that."""

        async def answer(route: Any) -> None:
            try:
                async with limit_time(REPLY_S):
                    await handler(route)
            except PLUGIN_ERRORS as error:
                self._note_broken(f"the handler of {pattern!r}", error)
            with suppress(playwright_error()):  # it was answered
                await route.fallback()

        await self.context.route(pattern, answer)
        return partial(self.context.unroute, pattern, answer)
