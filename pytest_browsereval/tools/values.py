"""What fields hold: made ready for keys, read back after an action, and compared with what was asked for."""

from __future__ import annotations

import asyncio
import re
import time
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart
from pytest_browsereval.tools.base import Refusal, ToolError
from pytest_browsereval.tools.following import await_frame
from pytest_browsereval.tools.hits import take_hit
from pytest_browsereval.tools.targets import act, resolve

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

FORMS = {
    "color": "a color such as #ff8800",
    "date": "a date such as 2026-03-04",
    "datetime-local": "a date and a time such as 2026-03-04T17:30",
    "month": "a month such as 2026-03",
    "number": "a number such as 1.5",
    "range": "a number",
    "time": "a time such as 17:30",
    "week": "a week such as 2026-W10",
}
"""What fields of a type take."""
DATES = frozenset(("date", "datetime-local", "month", "time", "week"))
NUMBERS = frozenset(("number", "range"))
UNTYPED = {
    "file": "takes a file. Call upload_file",
    **dict.fromkeys(("checkbox", "radio"), "takes no text. Call check or uncheck"),
    **dict.fromkeys(("button", "submit", "reset", "image"), "takes no text. Call click or press_key"),
    **dict.fromkeys(("color", "range"), "cannot be typed into. Call fill"),
}
"""Why no text is typed into fields of a type."""

UNFOCUSED = "No element has the focus: only the page itself could react to the keys."


_SOON_S = 0.1
"""An element that is there answers sooner, unless the machine is busy."""


def read_script(name: str) -> str:
    """Return the functions of ``NAME.js``, after those that all such scripts use, in ``control.js``."""
    files = (Path(__file__).with_name(f"{one}.js") for one in ("control", name))
    return "\n" + "".join(file.read_text(encoding="utf-8") for file in files)


_STATE = read_script("state")
_READ = f"(one, asked) => {{{_STATE} return read(one, (one) => state(one, asked)); }}"
_READ_FOCUSED = f"""(_, asked) => {{{_STATE}
  return read(globalThis.browserevalFocused, (one) => state(one, asked));
}}"""
_READY = f"(one) => {{{_STATE} return ready(one); }}"
_FOCUSED = Path(__file__).with_name("focus.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Value:
    """What a field holds, and what it takes."""

    kind: str
    """The type of an input, ``textarea``, ``select``, ``rich`` (edited in place); empty: not a field."""
    value: str
    is_secret: bool
    is_focused: bool
    is_seen: bool
    """False where a field only takes keys for an editor."""
    is_read_only: bool
    is_disabled: bool
    is_color: bool
    """What was asked for is a color."""
    most: int
    low: str
    high: str

    def show(self) -> str:
        """Return what it holds, in a few words; of a password no more than its length."""
        if not self.value.strip():
            return "nothing"
        if self.is_secret:
            return f"{len(self.value)} characters"
        return repr(shorten(self.value.strip(), 60))

    def holds(self, text: str) -> bool:
        """Tell whether it holds a text, and nothing else."""
        if self.kind in NUMBERS and (number := _number(text)) is not None:
            return number == _number(self.value)
        return _flat(text, self.kind) == _flat(self.value, self.kind)

    def has_form_of(self, text: str) -> bool:
        """Tell whether it holds a text as the page writes it: with other signs, capitals or an ending."""
        if self.kind in NUMBERS:
            return False
        if self.kind == "color":
            return self.is_color
        if self.kind in DATES:
            asked, there = (re.sub(r"\D", "", one) for one in (text, self.value))
            return bool(there) and asked.rstrip("0") == there.rstrip("0")
        asked, there = _letters(text), _letters(self.value)
        if asked:
            is_masked = len(self.value) == len(text) and not self.value.strip("*\u2022\u25cf")
            return is_masked or (asked in there and _keeps_number(text.strip(), self.value))
        signs = text.strip() or text
        return bool(signs) and (signs in self.value or not (text.strip() or there))

    def explain(self, text: str) -> str:
        """Return why it does not hold a text, as far as the page says."""
        if self.is_disabled or self.is_read_only:
            return f": it is {'disabled' if self.is_disabled else 'read-only'}"
        if form := FORMS.get(self.kind):
            ends = (f" from {self.low}" if self.low else "") + (f" to {self.high}" if self.high else "")
            return f": it takes {form}{ends}"
        if 0 <= self.most <= max(len(self.value), len(text) - 1):
            return f": it takes at most {self.most} characters"
        return ": the page did not take it"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _keeps_number(text: str, value: str) -> bool:
    """Tell whether the sign and the decimals of a number are still there: of 12.50, say, that became 1250."""
    decimals = text.partition(".")[2]
    pattern = (r"[-(\u2212\u2013].*" if text.startswith("-") else "") + (decimals and rf"\W{decimals}")
    return re.fullmatch(r"-?[0-9]*\.?[0-9]*", text) is None or re.search(pattern, value) is not None


def _flat(text: str, kind: str) -> str:
    text = text.replace("\r\n", "\n")
    return " ".join(text.split()) if kind == "rich" else text


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


async def read_back(
    window: PlaywrightWindow,
    target: str,
    script: str,
    began: float,
    asked: JsonValue = "",
    *,
    has_had_time: bool = False,
) -> Any:
    """Return what a script says of a target once its page has had the time to change it.

    Args:
        window: where it is.
        target: that was acted on.
        script: takes the element of the target, and what was asked for; no page can change what it sees.
        began: the time of ``time.monotonic`` before that.
        asked: what it was to hold.
        has_had_time: the page has had that time already: ``follow_input`` gives it.

    Returns:
        None if nobody can tell: it has gone, say.
    """
    if not has_had_time:
        await await_frame(window)
    element = resolve(window, target)
    looking = asyncio.ensure_future(_look(window, element, script, began, asked))
    try:
        # It is waited for, so one that has gone would take as long as an action may.
        await asyncio.wait({looking}, timeout=_SOON_S)
        if not looking.done() and await quietly(element.count(), window.rules.action_s) != 1:
            return None
        return await looking
    finally:
        looking.cancel()


async def _look(
    window: PlaywrightWindow, scope: Page | Locator, script: str, began: float, asked: JsonValue
) -> Any:
    limit_s = window.rules.action_s
    for _ in range(3):
        asked_ms = (time.monotonic() - began) * 1000
        age_ms, said = await quietly(ask_apart(scope, script, asked, limit_s=limit_s), limit_s) or (0, None)
        # A younger document is another one, to which the action has led; it may have such a field too.
        if age_ms < asked_ms:
            return None
        # While it was waited for, another one may have come and grown older: asked again, it is too young.
        if age_ms >= (time.monotonic() - began) * 1000:
            return said
    return None  # each answer took longer than the document was old: nobody can tell which one it was


async def read_value(
    window: PlaywrightWindow, target: str, began: float, asked: JsonValue = "", *, has_had_time: bool = False
) -> Value | None:
    """Return what a target holds; see ``read_back``."""
    found = await read_back(window, target, _READ, began, asked, has_had_time=has_had_time)
    return None if found is None else Value(**found)


async def make_ready(window: PlaywrightWindow, target: str, *, for_text: bool) -> Value:
    """Give a target the focus, with the caret after what is there, and return what it holds.

    Raises:
        Refusal: no key gets to it.
    """
    said = await act(window, target, lambda element: ask_apart(element, _READY), has_hit=False)
    value = Value(**take_hit(window, said))
    named = shorten(target, 80)
    if value.is_disabled:
        raise Refusal(f"{named} is disabled.")
    if for_text and (why := UNTYPED.get(value.kind)):
        raise Refusal(f"{named} {why}.")
    if for_text and value.is_read_only:
        raise Refusal(f"{named} is read-only.")
    if not value.is_focused:
        remedy = "Name the field itself." if for_text else "Leave target out: the focused element gets it."
        raise Refusal(f"{named} does not take the focus, so no key reaches it. {remedy}")
    return value


def describe_filled(target: str, text: str, value: Value | None) -> str:
    """Return what a fill came to, in a sentence.

    Raises:
        ToolError: the field holds something else.
    """
    named = shorten(target, 80)
    if value is None or not value.kind:
        return f"Filled {named} with {shorten(text, 60)!r}."
    asked = f"{len(text)} characters" if value.is_secret else repr(shorten(text, 60))
    if value.holds(text):
        return f"Filled {named} with {asked}."
    if value.has_form_of(text):
        return f"Filled {named} with {asked}; the page made it {value.show()}."
    raise ToolError(f"{named} holds {value.show()} now, not {asked}{value.explain(text)}.")


def describe_typed(where: str, text: str, value: Value | None, before: Value | None = None) -> str:
    """Return what typing came to, in a sentence.

    Args:
        where: the end of the sentence, such as " into #name".
        text: that was typed.
        value: of the field; None if nobody can tell.
        before: of the field, before that; None if it is not known.

    Raises:
        ToolError: the field has not taken the text.
    """
    is_secret = value is not None and value.is_secret
    did = f"Typed {f'{len(text)} characters' if is_secret else repr(shorten(text, 60))}{where}"
    whole = (before.value if before else "") + text
    if value is None or not value.kind or value.holds(whole):
        return f"{did}."
    has_changed = before is None or value.value != before.value
    if value.kind in NUMBERS:
        is_there = before is None
    elif value.kind in DATES:  # keys in another order than the field's make years of five digits
        is_there = has_changed and re.match(r"\d{5}", value.value) is None and bool(value.value)
    else:
        is_there = (has_changed or value.kind == "select") and value.has_form_of(text)
    # Keys may be meant for something else: Enter sends, a code goes over several fields, an editor takes all.
    is_elsewhere = not value.is_focused or not value.is_seen or "\n" in text or "\r" in text
    if is_there or is_elsewhere:
        is_plain = before is None and is_there and text in value.value
        return f"{did}." if is_plain else f"{did}; it holds {value.show()} now."
    raise ToolError(f"{did}, but it holds {value.show()} now{value.explain(whole)}.")


async def find_focused(window: PlaywrightWindow) -> bool | None:
    """Tell whether an element has the focus, and remember it in the page; None if nobody can tell."""
    return await quietly(ask_apart(window.page, _FOCUSED), window.rules.title_s)


async def describe_keys(
    window: PlaywrightWindow, text: str, where: str, *, has_focus: bool | None, began: float
) -> str:
    """Return what typing without a target came to, in a sentence, after ``follow_input``.

    Raises:
        ToolError: the field that had the focus has not taken the text.
    """
    if not has_focus:
        return f"{describe_typed(where, text, None)}{f' {UNFOCUSED}' if has_focus is False else ''}"
    found = await _look(window, window.page, _READ_FOCUSED, began, text)
    return describe_typed(where, text, None if found is None else Value(**found))
