"""Functions about a document that run out of reach of its page: in a world of scripts of their own.

A page can replace ``innerText``, ``Array.prototype.push`` and all else that scripts look at it with. In a
world of its own a function sees the same elements by the browser's own methods, and the page sees nothing of
it: no global, no attribute. So what decides a verdict or a refusal asks the page by ``ask_apart``::

    text = await ask_apart(frame, "(root) => root.body.innerText", limit_s=5)
    size = await ask_apart(page.locator("#cart li"), "(item, most) => item.innerText.slice(0, most)", 80)

It takes one call to the browser, under any content security policy of the page. It works in frames of
other processes: their scope is a frame of ``page.frames``, or ``locator.content_frame``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.errors import BrowserEvalError

if TYPE_CHECKING:
    from playwright.async_api import Frame, FrameLocator, Locator, Page, Playwright

    Scope = Page | Frame | FrameLocator | Locator

_ENGINE = "browsereval-apart"
# Playwright runs selector engines of `content_script` in its own world. The element that a search finds
# carries the answer out: it is in no document, and no page hears of it.
_SCRIPT = Path(__file__).with_name("world.js").read_text(encoding="utf-8")


class ApartError(BrowserEvalError):
    """The function raised; the message says what."""


async def offer_worlds(driver: Playwright, prelude: str = "") -> None:
    """Have a driver know how to run functions apart; before its first browser.

    Args:
        driver: just started.
        prelude: JavaScript that runs before, for what every document is asked: it is sent once.
    """
    script = f"(() => {{ {prelude}\nreturn {_SCRIPT}; }})()"
    await driver.selectors.register(_ENGINE, script, content_script=True)


def find_apart(scope: Scope, function: str, argument: JsonValue = None) -> Locator:
    """Return a locator of the element, or the list of them, that a function returns, without asking the page.

    Args:
        scope: a page or a frame, whose document the function gets; or a locator, whose element it gets.
        function: JavaScript that takes a document or an element, and the argument.
        argument: plain JSON.
    """
    return _locate(scope, function, argument, is_search=True)


async def ask_apart(
    scope: Scope, function: str, argument: JsonValue = None, *, limit_s: float | None = None
) -> Any:
    """Return the JSON value that a function returns; it cannot be a promise.

    Args:
        scope: as of ``find_apart``.
        function: as of ``find_apart``.
        argument: plain JSON.
        limit_s: how long a document or an element is waited for; by default as long as an action may take.

    Raises:
        ApartError: the function raised.
        playwright.Error: there is no such document or element, or it did not answer in time.
    """
    limit_ms = None if limit_s is None else limit_s * 1000
    box = _locate(scope, function, argument, is_search=False)
    try:
        said = json.loads(await box.text_content(timeout=limit_ms) or "{}")
    except playwright_error() as error:
        if "strict mode violation" in str(error) and (find := getattr(scope, "element_handle", None)):
            await find(timeout=limit_ms)  # its error names the elements of the page
        raise
    if "value" not in said:
        raise ApartError(str(said.get("error")))
    return said["value"]


def _locate(scope: Scope, function: str, argument: JsonValue, *, is_search: bool) -> Locator:
    given = quote(json.dumps([argument, is_search]).removeprefix("["), safe="")
    return scope.locator(f"{_ENGINE}={_quote_function(function)}{given}")


@cache
def _quote_function(function: str) -> str:
    """Return the beginning of a selector's JSON: functions are few, long, and the same in each call."""
    return quote(f"[{json.dumps(function)}, ", safe="")
