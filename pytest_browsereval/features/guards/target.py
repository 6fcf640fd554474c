"""What a tool call is about to touch: the words on it, and where it leads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error, quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.config.guard import GuardedCall
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.targets import ref_of, resolve

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame

Point = tuple[float, float]

UNREAD = "what it touches cannot be looked at. Try again."
"""Why a call is refused whose target is unread."""
TYPED = frozenset({"text", "value", "values", "answer", "reason", "key"})
"""Arguments that are typed into a page, chosen there or said: their words are data."""

_READ = Path(__file__).with_name("target.js").read_text(encoding="utf-8")
_AT = """([x, y]) => {
  let found = document.elementFromPoint(x, y);
  for (let inner; found?.shadowRoot && (inner = found.shadowRoot.elementFromPoint(x, y)) && inner !== found;)
    found = inner;
  return found;
}"""
_FOCUSED = """() => {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found;
}"""
_CORNER = """(frame) => {
  const box = frame.getBoundingClientRect();
  return [box.x + frame.clientLeft, box.y + frame.clientTop];
}"""
_INTO_FRAME = re.compile(r">>>|enter-frame|(ref=)?f\d+e\d+")
"""In a target: it may lie in a frame."""
_POINTS = (("x", "y"), ("start_x", "start_y"))
_TYPES = frozenset({"press_key", "type_keys"})
"""Tools that type where the focus is if they name no target."""
_FRAMES_DEEP = 5


@dataclass(frozen=True)
class Target:
    """What a call touches."""

    texts: tuple[str, ...] = ()
    """What stands on it: text, accessible name, the label of the button that Enter presses."""
    addresses: tuple[str, ...] = ()
    """Where a click or Enter leads, as far as the markup says."""
    pages: tuple[str, ...] = ()
    """The addresses of the pages and frames that it lies in."""
    is_unread: bool = False
    """The page cannot be looked at: it changes meanwhile, or its scripts are in the way."""


def sets_off(call: GuardedCall) -> bool:
    """Return whether a call sets something off: a click, a choice, an accepted dialog, Enter, a space."""
    if _is_click(call) or re.search("select_option|dialog", call.tool, re.IGNORECASE):
        return call.arguments.get("accept") is not False
    return is_enter(call) or str(call.arguments.get("key", "")).lower() in (" ", "space")


def _is_click(call: GuardedCall) -> bool:
    # A drag that ends where it began is a click, and so is what comes before a text is typed at a point.
    found = re.search(r"click|tap|submit|drag|type_at|\bcheck\b", call.tool, re.IGNORECASE)
    return found is not None


def touches_frame(call: GuardedCall) -> bool:
    """Return whether a call may act in a frame of the page, or read in it."""
    texts = [str(call.arguments.get(name) or "") for name in ("target", "source")]
    is_typing = call.tool in _TYPES and not any(texts)
    return is_typing or _point_of(call) is not None or any(map(_INTO_FRAME.search, texts))


def _point_of(call: GuardedCall) -> Point | None:
    for names in _POINTS:
        x, y = map(call.arguments.get, names)
        if isinstance(x, int | float) and isinstance(y, int | float):
            return x, y
    return None


def is_enter(call: GuardedCall) -> bool:
    """Return whether the call presses Enter in a field, which sends its form."""
    arguments = call.arguments
    if arguments.get("submit") is True or str(arguments.get("key", "")).lower().endswith(("enter", "return")):
        return True
    return "type" in call.tool and "\n" in str(arguments.get("text") or "")


async def read_target(call: GuardedCall) -> Target:
    """Return what a call touches, read from the page; empty if it touches nothing that can be read.

    In a browser that brings its own tools, it is what the call and the latest snapshot say of its target.
    """
    window = call.window
    if not isinstance(window, PlaywrightWindow):
        return _recall(call)
    if window.dialog is not None:  # a page with a dialog does not answer
        return Target(texts=(window.dialog.message,))
    try:
        return await asyncio.wait_for(_look(window, call), window.rules.action_s + 5)
    except TimeoutError:  # by the time that the tool acts it may answer again
        return Target(is_unread=True)
    except playwright_error() as error:
        return Target(is_unread=not is_closed_error(error))


async def _look(window: PlaywrightWindow, call: GuardedCall) -> Target:
    given = await quietly(_find(window, call), window.rules.action_s)
    asked: dict[str, Any] = {
        "isClick": _is_click(call),
        "isEnter": is_enter(call),
        "choice": str(call.arguments.get("value")) if "select_option" in call.tool else None,
    }
    at = _point_of(call)
    reads: list[dict[str, Any]] = []
    while given is not None and len(reads) < _FRAMES_DEEP:
        frame = await given.owner_frame()
        if frame is None:
            break
        read = await frame.evaluate(_READ, {**asked, "given": given, "at": at})
        reads.append(read)
        at = read.get("at")
        if at and read["mayHide"] and frame == window.page.main_frame:
            closed = await quietly(_read_closed(window, at, read["scroll"], asked), window.rules.action_s)
            reads += [closed] if closed else []
        given, at = await _enter(given, frame, at) if read.get("isFrame") else (None, None)
    texts, addresses = (
        tuple(str(one) for read in reads for one in read[key]) for key in ("texts", "addresses")
    )
    return Target(texts, addresses, tuple(str(read["page"]) for read in reads))


async def _enter(
    given: ElementHandle, frame: Frame, at: Point | None
) -> tuple[ElementHandle | None, Point | None]:
    """Return what lies at a point, or has the focus, in the frame that is there, and the point within it."""
    element = given if at is None else (await frame.evaluate_handle(_AT, at)).as_element()
    inner = element and await element.content_frame()
    if element is None or inner is None:
        return None, None
    if at is not None:
        left, top = await element.evaluate(_CORNER)
        at = at[0] - left, at[1] - top
    found = await (inner.evaluate_handle(_AT, at) if at else inner.evaluate_handle(_FOCUSED))
    return found.as_element() or await inner.query_selector("html"), at


async def _read_closed(
    window: PlaywrightWindow, at: Point, scroll: Sequence[float], asked: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return what lies at a point in a closed shadow tree, which scripts of the page cannot look into."""
    session = await window.cdp_session(window.page)
    x, y = (round(one + by) for one, by in zip(at, scroll, strict=True))
    node = await session.send("DOM.getNodeForLocation", {"x": x, "y": y})
    resolved = await session.send("DOM.resolveNode", {"backendNodeId": node["backendNodeId"]})
    given = {**asked, "isClick": False, "at": None}
    called = await session.send(
        "Runtime.callFunctionOn",
        {
            "functionDeclaration": f"function (asked) {{ return ({_READ})({{...asked, given: this}}); }}",
            "objectId": resolved["object"]["objectId"],
            "arguments": [{"value": given}],
            "returnByValue": True,
        },
    )
    read: dict[str, Any] | None = called["result"].get("value")
    return read


def _recall(call: GuardedCall) -> Target:
    """Return what the call and the latest snapshot in the log say of its target.

    A page can write such lines too, which can only add words and addresses to what is refused.
    """
    if "select_option" in call.tool:
        values = call.arguments.get("values", call.arguments.get("value"))
        return Target(tuple(map(str, values if isinstance(values, list | tuple) else [values])))
    said = tuple(said_by(call.arguments))
    marks = [f"[ref={ref}]" for text in said if (ref := ref_of(text))]
    for message in reversed(call.capture.messages.messages) if marks else ():
        output = str(message.result) if isinstance(message, ToolResultMessage) else ""
        if not any(mark in output for mark in marks):
            continue
        # The result is an envelope as Python writes it: line breaks are escaped there.
        lines = output.replace("\\n", "\n").split("\n")
        places = [place for place, line in enumerate(lines) if any(mark in line for mark in marks)]
        near = [lines[place + 1] for place in places if place + 1 < len(lines)]
        addresses = [line.partition("/url:")[2].strip(" \"'") for line in near if "/url:" in line]
        return Target((*said, *(lines[place].strip()[:300] for place in places)), tuple(addresses))
    return Target(said)


async def _find(window: PlaywrightWindow, call: GuardedCall) -> ElementHandle | None:
    target = call.arguments.get("target" if "source" not in call.arguments else "source")
    if isinstance(target, str):
        try:
            return await resolve(window, target).element_handle()
        except ToolError:  # the tool says what is wrong
            return None
    if (at := _point_of(call)) is not None:
        return (await window.page.evaluate_handle(_AT, at)).as_element()
    if is_enter(call) or call.tool in _TYPES:
        return (await window.page.evaluate_handle(_FOCUSED)).as_element()
    return None


def said_by(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a call's arguments, without what it types."""
    for name, value in arguments.items():
        if name in TYPED:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from said_by(value)
        elif isinstance(value, list | tuple):
            yield from said_by({f"{name}[]": one for one in value if isinstance(one, str)})
            for one in value:
                if isinstance(one, Mapping):
                    yield from said_by(one)
