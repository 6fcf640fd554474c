"""The element that a call acts on, as the page describes it: a reader compares calls by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ApartError, ask_apart
from pytest_browsereval.model.messages import Hit

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

_DESCRIBE = "(one, at) => browserevalHitAt(one, at)"
_LOCATE = "(one, at) => browserevalPlace(one, at)"
_AT_POINT = Path(__file__).with_name("point.js").read_text(encoding="utf-8")


async def note_point(window: PlaywrightWindow, x: float, y: float, limit_s: float) -> None:
    """Note what is at a point of the viewport; nothing if the page does not say."""
    await _note(window, window.page, _AT_POINT, [x, y], limit_s)


async def note_element(
    window: PlaywrightWindow, locator: Locator, at: Sequence[float] | None = None, *, is_named: bool = False
) -> None:
    """Note what a locator finds; nothing if the page does not say.

    Args:
        window: where it is.
        locator: finds it.
        at: the place in it that is acted on, in CSS pixels; None: its middle.
        is_named: whether the call names it, so that only the point is noted.
    """
    await _note(window, locator, _LOCATE if is_named else _DESCRIBE, at, window.rules.action_s)


def take_hit(window: PlaywrightWindow, said: dict[str, Any]) -> dict[str, Any]:
    """Note the element that a script has described as ``hit`` in what it says, and return the rest."""
    window.hit = Hit.model_validate(said["hit"])
    return {key: value for key, value in said.items() if key != "hit"}


async def _note(
    window: PlaywrightWindow,
    scope: Page | Locator,
    script: str,
    given: Sequence[float] | None,
    limit_s: float,
) -> None:
    window.hit = None
    try:
        found = await ask_apart(scope, script, [*given] if given else None, limit_s=limit_s)
    except (ApartError, playwright_error()):
        return
    window.hit = Hit.model_validate(found) if found else None
