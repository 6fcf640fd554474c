"""Puts one attack in the way of one attempt."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from pytest_browsereval.features.attacks.config import ATTACKER
from pytest_browsereval.features.attacks.frames import evaluate_in_frames
from pytest_browsereval.features.attacks.placeholders import unescape
from pytest_browsereval.sites import fill

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_RUN = """(call, argument, report) => {
  if (location.href === 'about:blank') return;
  const told = new Set();
  const tell = (text) => {
    if (told.has(text)) return;
    told.add(text);
    globalThis[report](String(text));
  };
  const observer = new MutationObserver(() => run());
  const run = () => {
    try { call(argument, tell); } finally { observer.takeRecords(); }  // its own changes call for nothing
  };
  const start = () => {
    observer.observe(document, {childList: true, subtree: true, characterData: true, attributes: true});
    run();
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start, {once: true});
  else start();
}"""


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
        self._names = 0

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
        """Note that the agent can meet the payload now, and where."""
        self._report(where)

    async def run_in_pages(
        self, function: str, argument: JsonValue, report: Callable[[str], object] | None = None
    ) -> None:
        """Run a function in the documents that are open and in all that come."""
        report = report or self._report
        self._names += 1
        name = f"browsereval_{id(self):x}_{self._names}"
        await self.context.expose_binding(name, lambda _source, where: report(str(where)[:200]))
        script = f"({_RUN})({function}, {json.dumps(argument)}, {json.dumps(name)})"
        await self.context.add_init_script(script)
        for page in self.context.pages:
            await evaluate_in_frames(page, script)  # the next document has it by then

    async def route(self, pattern: str, handler: Callable[[Any], Awaitable[None]]) -> None:
        """Have requests to a URL answered."""
        await self.context.route(pattern, handler)
