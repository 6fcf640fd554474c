"""Finds the element of a page that a tool call names."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart, find_apart
from pytest_browsereval.tools.base import Refusal, ToolError
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
# By label as Playwright finds them; else by what a snapshot calls a field: the label without fields in it,
# or what stands for a label.
_LABELLED = Path(__file__).with_name("label.js").read_text(encoding="utf-8")
# Only outside of quotes: `text=">>>"` is a text that a page may show.
_INTO_FRAME = re.compile(r'>>>(?=(?:[^"]*"[^"]*")*[^"]*$)')


_NOTE_S = 0.1
"""How long an action that is done waits for the description of its element."""


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
        raise Refusal(f"The target {target!r} has an empty part. Write FRAME >>> TARGET, or a target alone.")
    if ref := ref_of(part):
        return scope.locator(f"aria-ref={ref}")
    if part.startswith("label="):
        label = part.removeprefix("label=").strip()
        # Models quote labels as in other selectors; Playwright would look for the quotes too.
        quoted = len(label) > 1 and label[0] == label[-1] and label[0] in "\"'"
        return find_apart(scope, _LABELLED, " ".join((label[1:-1] if quoted else label).split()))
    return scope.locator(part)


async def act(
    window: PlaywrightWindow,
    target: str,
    action: Callable[[Locator], Awaitable[T]],
    *,
    has_hit: bool = True,
    at: Sequence[float] | None = None,
) -> T:
    """Do something to a target.

    A ref that has gone never comes back, so that it is refused at once and not when the time is up. It is
    asked for right before the action and awaited while that runs, which costs no time: after the action, it
    may have gone by the action. What a target finds is looked up meanwhile as well.

    Args:
        window: where it is.
        target: what is acted on.
        action: called with its locator.
        has_hit: whether the log describes the element: not where the call only looks, or has described it.
        at: the place in it that is acted on, in CSS pixels; None: its middle.

    Raises:
        ToolError: the ref is not on the page.
    """
    locator = resolve(window, target)
    ref = ref_of(target)
    if ref is not None:
        window.check_ref(ref)
    counting = asyncio.ensure_future(locator.count()) if ref else None
    doing = asyncio.ensure_future(action(locator))
    others: list[asyncio.Future[Any]] = []
    if has_hit:
        is_named = not ref and ">>" not in target and _NAMED.match(target) is not None
        others.append(asyncio.ensure_future(note_element(window, locator, at, is_named=is_named)))
    try:
        if ref and counting:
            others.append(counting)
            await asyncio.wait((doing, counting), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done() and counting.exception() is None and not counting.result():
                raise await _describe_lost(window, ref, target)
        done = await doing
        if has_hit and not others[0].done():  # what is quicker than the look at it
            await asyncio.wait(others[:1], timeout=_NOTE_S)
        return done
    finally:
        for task in (doing, *others):
            task.cancel()
            # Fetched, so that asyncio does not report an error that nobody waits for.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())


# Playwright notes the ref of an element at the element; one whose name changes gets another ref.
_LOST = Path(__file__).with_name("hidden.js").read_text(encoding="utf-8")
_LOST_S = 1.0


async def _describe_lost(window: PlaywrightWindow, ref: str, target: str) -> ToolError:
    """Return an error that says why a ref of an earlier snapshot finds nothing now."""
    role, name = window.recall_ref(ref)
    for frame in window.page.frames if role else ():
        kind: Any = role
        named = frame.get_by_role(kind, name=name, exact=True, include_hidden=True)
        lost = await quietly(ask_apart(named, _LOST, ref, limit_s=_LOST_S / len(window.page.frames)), _LOST_S)
        if lost and lost["why"]:
            other = f" Its ref is {lost['ref']} now." if lost["ref"] != ref else ""
            return ToolError(
                f"{ref} ({role} {shorten(name, 60)!r}) is still on the page, which hides it ({lost['why']}): "
                f"something else may be open in front of it.{other} Call snapshot to see what."
            )
    return Refusal(describe_gone(target))


def describe_gone(ref: str) -> str:
    """Return what to say of a ref that is not on the page."""
    return f"{ref} is not on the page. Call snapshot to get new refs."
