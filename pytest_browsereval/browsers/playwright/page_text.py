"""What a page says: its snapshot, and its text, which every tool and every check reads in one way."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.origins import cap_text
from pytest_browsereval.browsers.playwright.waiting import playwright_error, quietly
from pytest_browsereval.browsers.playwright.world import ask_apart, find_apart

if TYPE_CHECKING:
    from playwright.async_api import Frame, FrameLocator, Locator, Page

BODY_S = 0.5
"""A snapshot that takes longer may wait for a body that never comes."""
FRAME_S = 2.0
"""How long a frame of another origin has to answer."""
MOST_FRAMES = 50
DEEPEST = 5

_HERE = Path(__file__)
READ_TEXT = f"""globalThis.browserevalText = (...given) => (globalThis.browserevalText = (
{_HERE.with_name("page_text.js").read_text("utf-8")})())(...given);"""
"""Defines how the text of a document is read."""
PRELUDE = f"""{READ_TEXT}
globalThis.browserevalPlace = {_HERE.with_name("points.js").read_text("utf-8")};
globalThis.browserevalHit = {_HERE.with_name("hit.js").read_text("utf-8")};
globalThis.browserevalHitAt = (...given) => (
  {{...browserevalHit(given[0]), ...browserevalPlace(...given)}});"""
"""Prepares the world of a document; see ``offer_worlds``."""
_ASK = "(root, limit) => browserevalText(root, limit)"
_HAS_NO_BODY = "(root) => !root.body && !/html/.test(root.contentType)"
_FRAME = "(root, place) => globalThis.browserevalFrames?.[place]"
_MARK = re.compile("\x05([0-9]+)\x05")


@dataclass(frozen=True)
class PageText:
    """What was read."""

    value: str
    is_cut: bool
    """There is more of it than was asked for."""
    missing: int
    """How many frames did not answer."""

    @property
    def is_whole(self) -> bool:
        """Whether what is not in it is not on the page."""
        return not (self.is_cut or self.missing)


async def read_page_text(
    scope: Page | FrameLocator | Locator, limit: int, timeout_s: float, depth: int = 0
) -> PageText:
    """Return the text of a page or an element, each frame where it stands.

    Frames of the page's own origin are read with it, in one evaluation; others are asked themselves.

    Args:
        scope: what is read; a field gives what it holds.
        limit: how many characters are enough.
        timeout_s: how long the element may take to be there, and the page to answer.
        depth: how many frames of other origins it is in.

    Raises:
        playwright.Error: there is no such element, or the page does not answer.
    """
    seen = await ask_apart(scope, _ASK, limit, limit_s=timeout_s)
    count = int(seen["frames"])
    asked = 0 if depth == DEEPEST else min(count, MOST_FRAMES)
    inner = await asyncio.gather(*(_read_frame(scope, place, limit, depth) for place in range(asked)))
    found = {place: text.value for place, text in enumerate(inner) if text is not None}
    value = _MARK.sub(lambda mark: found.get(int(mark[1]), ""), seen["value"]) if count else seen["value"]
    missing = count - len(found) + sum(text.missing for text in inner if text is not None)
    is_cut = seen["cut"] or len(value) > limit or any(text.is_cut for text in inner if text is not None)
    return PageText(value[:limit], is_cut, missing)


async def _read_frame(
    scope: Page | FrameLocator | Locator, place: int, limit: int, depth: int
) -> PageText | None:
    frame = find_apart(scope, _FRAME, place).content_frame
    try:
        async with asyncio.timeout(FRAME_S):
            return await read_page_text(frame, limit, FRAME_S, depth + 1)
    except (TimeoutError, playwright_error()):
        return None


# Playwright gives each canvas a ref, and leaves those out that have neither a name nor anything in them.
_CANVASES = Path(__file__).with_name("canvases.js").read_text(encoding="utf-8")


async def list_canvases(page: Page, part: Locator | None, limit_s: float) -> list[tuple[str, list[str]]]:
    """Return the canvases of a page, or of a part of it, as the latest snapshot names them.

    Returns:
        For each its size in CSS pixels, and its ref, before those of what it stands in.
    """

    async def ask(scope: Page | Frame | Locator) -> tuple[bool, list[tuple[str, list[str]]]]:
        return await quietly(ask_apart(scope, _CANVASES, limit_s=limit_s), limit_s) or (True, [])

    is_whole, found = await ask(page if part is None else part)
    if not is_whole and part is None:  # frames of other origins
        for _, others in await asyncio.gather(*map(ask, page.frames[1:MOST_FRAMES])):
            found += [one for one in others if one[1][0] not in {refs[0] for _, refs in found}]
    return found


async def take_snapshot(page: Page, part: Locator | None, limit_s: float) -> str:
    """Return a page, or a part of it, as a tree of roles, names and texts, with a ref for each element.

    Raises:
        playwright.Error: the page does not answer, or has no such part.
    """
    if part is not None:
        tree = await part.aria_snapshot(mode="ai", timeout=limit_s * 1000)
        # Playwright knows the refs of its latest snapshot alone.
        await page.aria_snapshot(mode="ai", timeout=limit_s * 1000)
        return tree
    taking = asyncio.ensure_future(page.aria_snapshot(mode="ai", timeout=limit_s * 1000))
    try:
        done, _ = await asyncio.wait({taking}, timeout=BODY_S)
        if not done and await quietly(ask_apart(page, _HAS_NO_BODY, limit_s=limit_s), limit_s):
            # Playwright waits for a body, and a document of SVG or XML never has one.
            return await page.locator(":root").aria_snapshot(mode="ai", timeout=limit_s * 1000)
        return await taking
    finally:
        taking.cancel()
        taking.add_done_callback(lambda done: done.cancelled() or done.exception())


async def read_title(page: Page, limit_s: float) -> str:
    """Return a page's title; that it is not known, where the page does not tell it in time."""
    title = await quietly(page.title(), limit_s)
    return cap_text(title) if title is not None else "(not known: the page did not react in time)"
