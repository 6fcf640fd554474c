"""Keys by the names that models write, pressed one after the other or held down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.errors import nearest
from pytest_browsereval.tools.base import Refusal

if TYPE_CHECKING:
    from playwright.async_api import Keyboard

REPEAT_AFTER_S = 0.5
REPEAT_S = 1 / 30
"""When a key that stays down begins to repeat, and how often, as keyboards do."""

_PLAIN_KEYS = (
    *("Enter", "Tab", "Escape", "Backspace", "Delete", "Insert", "Home", "End"),
    *("PageUp", "PageDown", "Space", "Shift", "Alt", "Control", "Meta"),
    *(f"Arrow{way}" for way in ("Up", "Down", "Left", "Right")),
    *(f"F{number}" for number in range(1, 13)),
)
_KEY_NAMES = {
    **{name.lower(): name for name in _PLAIN_KEYS},
    **{name.removeprefix("Arrow").lower(): name for name in _PLAIN_KEYS if name.startswith("Arrow")},
    "return": "Enter",
    "esc": "Escape",
    "del": "Delete",
    "spacebar": "Space",
    "page_up": "PageUp",
    "page_down": "PageDown",
    "ctrl": "Control",
    "option": "Alt",
    "controlormeta": "ControlOrMeta",
    **dict.fromkeys(("cmd", "command", "win", "super"), "Meta"),
}
"""Names as the browser takes them, by those that models write, in small letters."""


def split_key(key: str) -> list[str]:
    """Return the keys of a combination as the browser names them: ``["Control", "A"]``, ``["Enter"]``."""
    if len(key) == 1 or not key.strip("+ "):
        return ["Space" if key == " " else key]
    # `Control++` is Control and the plus key: the second plus separates nothing.
    *modifiers, last = (part.strip() or "+" for part in key.replace("++", "+\0").split("+"))
    parts = [*modifiers, "+" if last == "\0" else last]
    names = [_KEY_NAMES.get(part.lower(), part) for part in parts]
    if "Shift" in names and len(upper := names[-1].upper()) == 1:  # Playwright types it as written
        names[-1] = upper
    return names


def name_key(key: object) -> str:
    """Return a key, or a combination, as the browser names it: ``Control+A``, ``Enter``."""
    return "+".join(split_key(str(key)))


Key = Annotated[str, Field(min_length=1, max_length=60)]
Modifiers = Annotated[
    list[Annotated[Literal["Alt", "Control", "ControlOrMeta", "Meta", "Shift"], BeforeValidator(name_key)]],
    Field(max_length=5, description="Keys that are down meanwhile, as for a choice of several."),
]
HoldMs = Annotated[
    float, Field(ge=0, le=10_000, description="Milliseconds that it stays down; 800 is a long press.")
]


async def press(keyboard: Keyboard, keys: Sequence[str], hold_ms: float) -> None:
    """Press keys or combinations, one after the other.

    Raises:
        Refusal: the browser knows no such key; the message says which ones were pressed.
    """
    for place, key in enumerate(keys):
        try:
            await (_hold(keyboard, key, hold_ms / 1000) if hold_ms else keyboard.press(name_key(key)))
        except playwright_error() as error:
            if "Unknown key" not in str(error):
                raise
            hint = nearest(split_key(key)[-1], _PLAIN_KEYS)
            pressed = f" Pressed before it: {', '.join(map(name_key, keys[:place]))}." if place else ""
            raise Refusal(f"There is no key {key!r}.{hint}{pressed}") from None


async def _hold(keyboard: Keyboard, key: str, hold_s: float) -> None:
    loop = asyncio.get_running_loop()
    *modifiers, last = split_key(key)
    async with holding(keyboard, (*modifiers, last)):
        end = loop.time() + hold_s
        await asyncio.sleep(min(hold_s, REPEAT_AFTER_S))
        while (left_s := end - loop.time()) > 0:
            await keyboard.down(last)
            await asyncio.sleep(min(left_s, REPEAT_S))


@asynccontextmanager
async def holding(keyboard: Keyboard, keys: Sequence[str]) -> AsyncIterator[None]:
    """Have keys down within this block."""
    down: list[str] = []
    try:
        for key in keys:
            await keyboard.down(key)
            down.append(key)
        yield
    finally:
        for key in reversed(down):
            await keyboard.up(key)
