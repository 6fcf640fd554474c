"""Asks a page what checks are about: all at once, without a trace in it, and never for long.

What runs in the page is either ours, in a world of its own, or an expression of the row that the browser
refuses to go on with as soon as it could change anything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.browsers.playwright.page_text import read_page_text
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.graders.observing import STORAGES, describe_broken, find_role, parse_stored
from pytest_browsereval.graders.page_checks import PAGE_CHECKS, PageCheck
from pytest_browsereval.graders.page_values import NoValue, make_plain, read_value
from pytest_browsereval.graders.values import TEXT_LIMIT

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Frame, Page

LIMIT_S = 1.0
"""How long the page has to answer."""
EXPRESSION_LIMIT_MS = 300
"""How long an expression of a row may run."""

WORLD = "browsereval"
GROUP = "browsereval-progress"

_READ = Path(__file__).with_name("page_reader.js").read_text(encoding="utf-8")

_STRINGIFY = """function(limit) {
  const text = JSON.stringify(this);
  return text === undefined || text.length > limit ? null : text;
}"""

CHANGES = "asking it could change the page"
WAITS = "its answer would have to be waited for"


class PageReader:
    """Asks pages of a window again and again.

    Args:
        window: whose current tab is asked.
        checks: what they are about is read.
        homes: URLs of the sites whose storage is meant.
    """

    def __init__(self, window: PlaywrightWindow, checks: Iterable[PageCheck], homes: Iterable[str]) -> None:
        self._window = window
        checks = tuple(checks)
        self._own = [check for check in checks if check.kind not in PAGE_CHECKS]
        subjects: dict[str, dict[str, PageCheck]] = {"js": {}, "storage": {}, "role": {}, "text": {}}
        for check in checks:
            subjects.setdefault(check.kind, {})[check.key if check.kind == "role" else check.subject] = check
        self._subjects = subjects
        self._homes = {origin_of(url) for url in homes if urlsplit(url).scheme in ("http", "https")}
        places = [
            [place, STORAGES[place.partition(":")[0]], place.partition(":")[2]]
            for place in subjects["storage"]
        ]
        self._script = f"({_READ})({TEXT_LIMIT}, {json.dumps(places)})"
        self._worlds: dict[Page, int] = {}
        self._frames: dict[Page, str] = {}
        self._holds_objects = False
        self.refused: dict[str, str] = {}
        """Expressions that are not asked any more, and why."""

    async def read(self) -> dict[str, Any]:
        """Return what the page answers, as the evidence of ``page_state`` has it, without what is unknown.

        Raises:
            DialogOpened: a dialog has opened meanwhile.
            TimeoutError: it has not answered in time.
            NoTab: there is no page.
            playwright.Error: it has gone meanwhile.
        """
        return await self._window.watch(self._read(self._window.page), LIMIT_S)

    async def _read(self, page: Page) -> dict[str, Any]:
        session = await self._window.cdp_session(page)
        roles = self._subjects["role"].items()
        broken = describe_broken(self._window)
        scripts = [one for one in self._subjects["js"] if one not in self.refused and not broken]
        work: list[Coroutine[Any, Any, Any]] = [
            self._read_apart(session, page),
            self._read_text(page),
            *(_count(page, check) for _, check in roles),
            *(self._evaluate(session, script) for script in scripts),
        ]
        seen, text, *rest = await asyncio.gather(*work)
        counts, values = rest[: len(roles)], rest[len(roles) :]
        if self._holds_objects:
            self._holds_objects = False
            await session.send("Runtime.releaseObjectGroup", {"objectGroup": GROUP})
        is_home = not self._homes or origin_of(page.url) in self._homes
        storage = {
            place: found
            for place, found in seen["storage"].items()
            if is_home or found["value"] is not None  # elsewhere it says nothing of the site's
        }
        for check in self._own:
            await check.look(self._window, text)
        return {
            **seen,
            **text,
            **({"broken": broken} if broken else {}),
            "url": page.url,
            "storage": storage,
            "roles": {key: count for (key, _), count in zip(roles, counts, strict=True)},
            "js": {script: one for script, one in zip(scripts, values, strict=True) if one is not None},
        }

    async def _read_text(self, page: Page) -> dict[str, Any]:
        if not self._subjects["text"]:
            return {}
        seen = await read_page_text(page, TEXT_LIMIT, LIMIT_S)
        return {"text": {"value": make_plain(seen.value), "cut": not seen.is_whole}}

    # -- our own script

    async def _read_apart(self, session: CDPSession, page: Page) -> dict[str, Any]:
        for _ in range(2):
            if page not in self._worlds:
                self._worlds[page] = await self._make_world(session, page)
            world = {"contextId": self._worlds[page], "returnByValue": True}
            try:
                reply = await session.send("Runtime.evaluate", {"expression": self._script, **world})
            except playwright_error():  # a document that has gone took its worlds along
                self._worlds.pop(page, None)
                continue
            value = reply["result"].get("value")
            if isinstance(value, dict):
                return {name: make_plain(one) for name, one in value.items()}
            break
        return {"storage": {}}

    async def _make_world(self, session: CDPSession, page: Page) -> int:
        if page not in self._frames:
            page.on("framenavigated", self._forget)
            tree = await session.send("Page.getFrameTree")
            self._frames[page] = tree["frameTree"]["frame"]["id"]  # a page keeps that of its main frame
        named = {"frameId": self._frames[page], "worldName": WORLD}
        world = await session.send("Page.createIsolatedWorld", named)
        return int(world["executionContextId"])

    def _forget(self, frame: Frame) -> None:
        # The number of a world may be that of the page's own in the next document.
        if frame.parent_frame is None:
            self._worlds.pop(frame.page, None)

    # -- expressions of rows

    async def _evaluate(self, session: CDPSession, script: str) -> dict[str, Any] | None:
        """Return ``{value}`` or ``{error}``; None if it is not known."""
        pure = {"throwOnSideEffect": True, "objectGroup": GROUP}
        given = {"expression": script, "timeout": EXPRESSION_LIMIT_MS, **pure}
        try:
            reply = await session.send("Runtime.evaluate", given)
        except playwright_error() as error:
            if "terminated" not in str(error):
                raise
            return None  # it took too long
        remote = reply["result"]
        self._holds_objects = self._holds_objects or "objectId" in remote
        if remote.get("type") == "function" and "exceptionDetails" not in reply:
            called = {"functionDeclaration": "function() { return this(); }", "objectId": remote["objectId"]}
            reply = await session.send("Runtime.callFunctionOn", {**called, **pure})
            remote = reply["result"]
        if "exceptionDetails" in reply:
            if str(remote.get("description", "")).startswith("EvalError: Possible side-effect"):
                self.refused[script] = CHANGES
                return None
            return {"error": "it threw"}
        if remote.get("subtype") == "promise":
            self.refused[script] = WAITS
            return None
        if "objectId" not in remote:
            return await _read_primitive(session, remote)
        limit = {"arguments": [{"value": TEXT_LIMIT}], "objectId": remote["objectId"]}
        made = {"functionDeclaration": _STRINGIFY, **limit, "returnByValue": True, **pure}
        text = (await session.send("Runtime.callFunctionOn", made))["result"].get("value")
        return {"value": parse_stored(text)} if isinstance(text, str) else None


async def _read_primitive(session: CDPSession, remote: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"value": await read_value(session, remote)}
    except NoValue as error:
        return {"error": str(error)}


async def _count(page: Page, check: PageCheck) -> int:
    """Return how many elements have the role, as ``page_state`` counts them."""
    return sum([await found.count() for found in find_role(page, check.subject, check.name)])
