"""Observation of the live window for WebArena's rules: parts of pages and pictures."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from pytest_browsereval.benchmarks.second_tab import limit_work, open_further_tab, open_page
from pytest_browsereval.benchmarks.webarena.programs import address_of, expression_of
from pytest_browsereval.benchmarks.webarena.rules import PictureTarget, Rules, Target
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    from playwright.async_api import Locator

MAX_PICTURES = 8
"""Of one question; more are not shown."""
PICTURE_LIMIT_S = 15.0
"""For all pictures of one question, on a busy machine too."""

_PICTURES = "img, [role=img]"
# A picture that has loaded may still be drawn as an empty one, until a frame with it was drawn.
_DECODED = """async pictures => {
  await Promise.all(pictures.map((one) => one.decode?.().catch(() => null)));
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}"""


async def observe(
    window: Window, rules: Sequence[Rules], holds: Callable[[Rules, Target, Any], bool], wait_s: float
) -> JsonValue:
    """Read what the rules look at; the window's current tab is the same one afterwards.

    Args:
        window: of the attempt.
        rules: of its row.
        holds: whether a part of a page is as it should be, so that nothing has to be waited for.
        wait_s: how long to look again while a part does not hold.

    Raises:
        Fault: source *grader*: a page cannot be opened or read.
    """
    async with observing.live_page(window) as page:
        # Read before any other page is opened: rules name it `last`.
        last = page.url
    assert isinstance(window, PlaywrightWindow)  # noqa: S101 live_page takes no other
    seen: list[JsonValue] = []
    for one in rules:
        targets: list[JsonValue] = []
        for target in one.targets:
            async with _open_at(window, address_of(target.url, last)):
                targets.append(await _read_part(window, one, target, holds, wait_s))
        pictures: list[JsonValue] = []
        for asked in one.pictures:
            async with _open_at(window, address_of(asked.eval_image_url, last)):
                pictures.append(await _draw_pictures(window, asked))
        seen.append({"targets": targets, "pictures": pictures})
    return {"url": last, "rules": seen}


@asynccontextmanager
async def _open_at(window: PlaywrightWindow, url: str | None) -> AsyncIterator[None]:
    if url is None:
        yield
        return
    async with open_further_tab(window):
        await open_page(window, url)
        await window.settle()
        yield


async def _read_part(
    window: PlaywrightWindow,
    rules: Rules,
    target: Target,
    holds: Callable[[Rules, Target, Any], bool],
    wait_s: float,
) -> dict[str, JsonValue]:
    async with observing.live_page(window) as page:
        for action in target.prep_actions:
            await _read_value(page, action)

    async def look() -> dict[str, JsonValue]:
        async with observing.live_page(window) as page:
            value = await _read_value(page, expression_of(target.locator))
            # A cut text could lack what the rule looks for, and that would be a failure.
            if isinstance(value, str) and len(value) > observing.STATE_LIMIT_BYTES:
                message = f"{len(value)} characters; at most {observing.STATE_LIMIT_BYTES} are read"
                raise GraderFault(f"{beginning(page.url, 200)} shows {message}")
            is_there = not target.locator.startswith("lambda:") and not observing.describe_broken(window)
            return {"value": "" if value is None and is_there else value}

    return await observing.wait_until_final(look, lambda seen: holds(rules, target, seen["value"]), wait_s)


async def _read_value(page: observing.LivePage, expression: str) -> JsonValue:
    """Return what an expression gives; None where it throws: the page is another one then."""
    try:
        return await page.value(expression)
    except NoValue:
        return None


async def _draw_pictures(window: PlaywrightWindow, asked: PictureTarget) -> list[JsonValue]:
    """Return the pictures that a question is about, as they are drawn, in base64."""
    place = asked.eval_image_class.strip()
    # The class may be that of the picture or of what holds it.
    selector = f"{place}:is({_PICTURES}), {place} :is({_PICTURES})" if place else _PICTURES
    late = f"the pictures of the page took more than {PICTURE_LIMIT_S:g} s to draw"
    async with limit_work(PICTURE_LIMIT_S, late, "the pictures of the page cannot be drawn"):
        found = window.page.locator(selector).filter(visible=True)
        count = min(await found.count(), MAX_PICTURES)
        await found.evaluate_all(_DECODED)
        drawn = [await _draw(found.nth(n)) for n in range(count)]
    return [base64.b64encode(picture).decode() for picture in drawn]


async def _draw(picture: Locator) -> bytes:
    """Return a picture; one that has moved meanwhile is drawn again: something else was at its place."""
    limit_ms = PICTURE_LIMIT_S * 1000  # not the agent's: how long its actions wait
    await picture.scroll_into_view_if_needed(timeout=limit_ms)
    place = await picture.bounding_box(timeout=limit_ms)
    while True:
        drawn = await picture.screenshot(type="jpeg", quality=85, timeout=limit_ms)
        before, place = place, await picture.bounding_box(timeout=limit_ms)
        if place == before:
            return drawn
