"""What a tool call is about to touch: the words on it, and where it leads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error, quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ApartError, ask_apart, find_apart
from pytest_browsereval.config.guard import GuardedCall
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.points import place_in
from pytest_browsereval.tools.targets import ref_of, resolve

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator, Page

Point = tuple[float, float]

UNREAD = "what it touches cannot be looked at. Try again."
"""Why a call is refused whose target is unread."""
TYPED = frozenset({"text", "value", "values", "answer", "reason", "key", "keys"})
"""Arguments that are typed into a page, chosen there or said: their words are data."""

_READ = Path(__file__).with_name("target.js").read_text(encoding="utf-8")
_INTO_FRAME = re.compile(r">>>|enter-frame|(ref=)?f\d+e\d+")
"""In a target: it may lie in a frame."""
_POINTS = (("x", "y"), ("start_x", "start_y"), ("end_x", "end_y"))
_KEYS = {"\n": "enter", "\r": "enter", "return": "enter", "numpadenter": "enter", "space": " "}
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
    """Return whether a call may set something off: a click, a choice, an accepted dialog, a key.

    Which keys do is seen on the page. In a browser that brings its own tools it is Enter and a space.
    """
    if call.sets_off in ("click", "choice"):
        return call.arguments.get("accept") is not False
    keys = _list_keys(call)
    if isinstance(call.window, PlaywrightWindow):
        return bool(keys)
    return "enter" in keys or (" " in keys and "text" not in call.arguments)


def _chooses(call: GuardedCall) -> bool:
    return call.sets_off == "choice" and not call.arguments.keys().isdisjoint(("value", "values"))


def _list_choices(call: GuardedCall) -> list[str]:
    values = call.arguments.get("values")
    values = call.arguments.get("value") if values is None else values
    return list(map(str, values if isinstance(values, list | tuple) else [values]))


def touches_frame(call: GuardedCall) -> bool:
    """Return whether a call may act in a frame of the page, or read in it."""
    texts = [str(call.arguments.get(name) or "") for name in ("target", "source")]
    is_typing = call.sets_off == "keys" and not any(texts)
    return is_typing or bool(_list_points(call)) or any(map(_INTO_FRAME.search, texts))


def _list_points(call: GuardedCall) -> list[Point]:
    """Return the points that a call names, in their order: of a drag the last one is where it drops."""
    pairs = [tuple(map(call.arguments.get, names)) for names in _POINTS]
    lists = [call.arguments.get(name) for name in ("path", "then")]
    pairs += [
        tuple(one)
        for given in lists
        if isinstance(given, list)
        for one in given
        if isinstance(one, list) and len(one) == 2
    ]
    return [(x, y) for x, y in pairs if isinstance(x, int | float) and isinstance(y, int | float)]


def _list_keys(call: GuardedCall) -> list[str]:
    """Return the keys that a call presses, each once, in lower case."""
    arguments = call.arguments
    keys = list(str(arguments.get("text") or "")) if call.sets_off in ("click", "keys") else []
    for key in (arguments.get("key"), *(arguments.get("keys") or ())):
        keys += [key if len(key) == 1 else key.rpartition("+")[2].strip() or "+"] if key else []
    if arguments.get("submit") is True:
        keys.append("Enter")
    return list(dict.fromkeys(_KEYS.get(key.lower(), key.lower()) for key in keys))


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
    except (ApartError, TimeoutError):  # by the time that the tool acts it may answer again
        return Target(is_unread=True)
    except playwright_error() as error:
        return Target(is_unread=not is_closed_error(error))


async def _look(window: PlaywrightWindow, call: GuardedCall) -> Target:
    asked: dict[str, Any] = {
        "isClick": call.sets_off == "click",
        "isDrop": False,
        "keys": _list_keys(call),
        "choices": _list_choices(call) if _chooses(call) else None,
    }
    given = call.arguments
    points = _list_points(call)
    first, others = points[0] if points else None, points[1:]
    is_drag, is_drop = "source" in given, not given.get("then") and bool(others)
    place = await _find_place(window, given)
    if is_drag:
        reads = await _read_at(window, given["source"], None, asked)
        reads += await _read_at(window, None if place else given["target"], place, {**asked, "isDrop": True})
    else:
        reads = await _read_at(window, None if place else given.get("target"), place or first, asked)
    for at in others[-1:] if is_drop else others:
        reads += await _read_at(window, None, at, {**asked, "isDrop": is_drop})
    texts = tuple(str(text) for read in reads for text in read["texts"])
    addresses = tuple(str(address) for read in reads for address in read["addresses"])
    return Target(texts, addresses, tuple(str(read["page"]) for read in reads))


async def _find_place(window: PlaywrightWindow, given: Mapping[str, Any]) -> Point | None:
    """Return the point of the viewport that a call names by its place in an element; None if it does not."""
    position = given.get("to_position" if "source" in given else "position")
    if not position:
        return None
    with suppress(ToolError):  # the tool says what is wrong
        finding = place_in(resolve(window, given["target"]), "it", position)
        return await quietly(finding, window.rules.action_s)
    return None


async def _read_at(
    window: PlaywrightWindow, named: object, at: Point | None, asked: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return what lies at a place: in the page, and in each frame that is there."""
    scope: Page | Frame | Locator | None = window.page if at is not None or asked["keys"] else None
    if isinstance(named, str):
        with suppress(ToolError):  # the tool says what is wrong
            scope = resolve(window, named)
    reads: list[dict[str, Any]] = []
    limit_s = window.rules.action_s
    while scope is not None and len(reads) < _FRAMES_DEEP:
        given: dict[str, Any] = {**asked, "at": at}
        asking = ask_apart(scope, _READ, given, limit_s=limit_s)
        # Where nothing is there, or several are, the tool says so.
        read = await (asking if reads else quietly(asking, limit_s))
        if read is None:
            break
        reads.append(read)
        scope, at = (await _find_frame(scope, asked, read)) if read.get("isFrame") else (None, None)
    return reads


async def _find_frame(
    scope: Page | Frame | Locator, asked: Mapping[str, Any], read: Mapping[str, Any]
) -> tuple[Frame | None, Point | None]:
    """Return the frame that was hit, and the point within it."""
    at = read["at"]
    hit = await find_apart(scope, _READ, {**asked, "at": at, "isSearch": True}).element_handle()
    return await hit.content_frame(), at and tuple(
        one - by for one, by in zip(at, read["corner"], strict=True)
    )


def _recall(call: GuardedCall) -> Target:
    """Return what the call and the latest snapshot in the log say of its target.

    A page can write such lines too, which can only add words and addresses to what is refused.
    """
    if _chooses(call):
        return Target(tuple(_list_choices(call)))
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
