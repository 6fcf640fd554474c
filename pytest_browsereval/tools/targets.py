"""Finds the element of a page that a tool call names."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.hits import note_element

if TYPE_CHECKING:
    from playwright.async_api import FrameLocator, Locator, Page

T = TypeVar("T")

_WHAT = (
    'A ref of the latest snapshot ("e12"), or a selector that matches exactly one element: '
    'role=button[name="Add to cart"], text=Sign in, label=Email, or CSS. Enter an iframe by '
    "FRAME >>> TARGET."
)
Target = Annotated[str, Field(min_length=1, max_length=2000, description=_WHAT)]

_REF = re.compile(r"\[?(?:ref=)?((?:f\d+)?e\d+)\]?")
_NAMED = re.compile(r"(text|label)=|role=\w+\[name=")
# Only outside of quotes: `text=">>>"` is a text that a page may show.
_INTO_FRAME = re.compile(r'>>>(?=(?:[^"]*"[^"]*")*[^"]*$)')


def ref_of(target: str) -> str | None:
    """Return the ref that a target is (``e12``, ``f1e3``, also written ``ref=e12``), or None."""
    match = _REF.fullmatch(target.strip())
    return match[1] if match else None


def resolve(window: PlaywrightWindow, target: str) -> Locator:
    """Return the locator of a target in the current tab; nothing is looked up yet.

    Raises:
        ToolError: a part of the target is empty.
        NoTab: no tab is open.
    """
    return locate(window.page, target)


def locate(page: Page, target: str) -> Locator:
    """Return the locator of a target in a page; nothing is looked up yet.

    Raises:
        ToolError: a part of the target is empty.
    """
    *frames, last = (part.strip() for part in _INTO_FRAME.split(target))
    scope: Page | FrameLocator = page
    for part in frames:
        scope = _locate(scope, part, target).content_frame
    return _locate(scope, last, target)


def _locate(scope: Page | FrameLocator, part: str, target: str) -> Locator:
    if not part:
        raise ToolError(
            f"The target {target!r} has an empty part. Write FRAME >>> TARGET, or a target alone."
        )
    if ref := ref_of(part):
        return scope.locator(f"aria-ref={ref}")
    if part.startswith("label="):
        label = part.removeprefix("label=").strip()
        # Models quote labels as in other selectors; Playwright would look for the quotes too.
        quoted = len(label) > 1 and label[0] == label[-1] and label[0] in "\"'"
        return scope.get_by_label(label[1:-1] if quoted else label, exact=True)
    return scope.locator(part)


async def act(window: PlaywrightWindow, target: str, action: Callable[[Locator], Awaitable[T]]) -> T:
    """Do something to a target.

    A ref that has gone never comes back, so that it is refused at once and not when the time is up. It
    is looked for while the action runs, which costs no time. So is what a selector finds that has no name.

    Raises:
        ToolError: the ref is not on the page.
    """
    locator = resolve(window, target)
    ref = ref_of(target)
    if ref is not None:
        window.check_ref(ref)
    elif _NAMED.match(target):
        return await action(locator)
    doing = asyncio.ensure_future(action(locator))
    if ref is None:
        looking: asyncio.Future[Any] = asyncio.ensure_future(note_element(window, locator))
    else:  # the snapshot names its element
        looking = asyncio.ensure_future(locator.count())
    try:
        await asyncio.wait((doing, looking), return_when=asyncio.FIRST_COMPLETED)
        if ref and not doing.done() and looking.exception() is None and not looking.result():
            raise ToolError(describe_gone(target))
        return await doing
    finally:
        for task in (doing, looking):
            task.cancel()
            # Fetched, so that asyncio does not report an error that nobody waits for.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())


def describe_gone(ref: str) -> str:
    """Return what to say of a ref that is not on the page."""
    return f"{ref} is not on the page any more. Call snapshot to get new refs."
