"""Playwright's errors as short sentences that a model can act on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import describe_unloaded
from pytest_browsereval.tools.base import Refusal, ToolError
from pytest_browsereval.tools.targets import describe_gone, ref_of

_STRICT = re.compile(r"strict mode violation: .*? resolved to (\d+) elements:")
_MATCH = re.compile(r"^\s*\d+\) (<.*?>.*?)(?: aka .*)?$", re.MULTILINE)
_COVERED = re.compile(r"- (<.*?>.*?) (?:from .* subtree )?intercepts pointer events")
_NET = re.compile(r"net::(ERR_\w+)(?: at (\S+))?")
_PREFIX = re.compile(r"^(?:\w+\.\w+: )?(?:Error: )?(?:InvalidSelectorError: )?")
# The call log of Playwright: the text of its errors is the only place where it says how far it came.
_LOOKING = re.compile(r"- waiting for (?!element|navigation)")
_LOADING = re.compile(
    r'waiting for navigation|navigating to|- waiting for (?:scheduled|".*") navigation.*\s*$'
)
_WORDS = re.compile(r"[^#.:\[\]>=*~+|\"\\]*[A-Z ][^#.:\[\]>=*~+|\"\\]*")
"""What is no ref and no CSS that anyone would write, such as ``Add to cart``."""
_SHOWN = 3

_STATES = {
    "element is not visible": "is not visible",
    "element is not enabled": "is disabled",
    "element is not editable": "is read-only",
    "element is not stable": "keeps moving",
    "element is inert": "is held back by the page (inert). Answer or close what is in front of it",
    "element is outside of the viewport": "is outside the viewport and cannot be scrolled into view",
}
_SENTENCES = {
    "Invalid frame in aria-ref": "{gone}",
    "Cannot type text into input[type=number]": "{named} takes a number such as 1.5.",
    'Input of type "file" cannot be filled': "{named} takes a file. Call upload_file.",
    'Input of type "checkbox" cannot be filled': "{named} takes no text. Call check or uncheck.",
    'Input of type "radio" cannot be filled': "{named} takes no text. Call check.",
    "Element is not an <input>": "{named} takes no text. Call click, or press_key for a slider.",
    "does not match any element": "{nothing}",
    "crashed": "The page has crashed. Call reload or navigate to load it again.",
    "has been closed": "The tab was closed meanwhile. Call list_tabs to see which are open.",
}


def explain(error: BaseException, arguments: Mapping[str, Any]) -> ToolError:
    """Return one or two sentences for a Playwright error; a ``Refusal`` where no page has written in them.

    Args:
        error: what Playwright raised.
        arguments: of the tool call, to name the target.
    """
    text = str(error)
    target = str(arguments.get("source") or arguments.get("target") or "")
    named = shorten(target, 80)
    if match := _STRICT.search(text):
        return ToolError(_ambiguous(named, int(match[1]), text))
    for sign, sentence in _SENTENCES.items():
        if sign in text:
            nothing = _describe_nothing(named, target)
            return Refusal(sentence.format(gone=describe_gone(named), named=named, nothing=nothing))
    # Before the kinds of errors: a navigation that fails is a plain `Error`.
    if match := _NET.search(text):
        return Refusal(describe_unloaded(match[2] or str(arguments.get("url", "the page")), match[1]))
    if type(error).__name__ == "TimeoutError":
        if covers := _COVERED.findall(text):
            cover = shorten(covers[-1], 80)
            return ToolError(f"{named} is covered by {cover}, which would take the click.")
        return Refusal(_too_late(named, target, text))
    line = next((line for line in text.splitlines() if line.strip()), "")
    return ToolError(shorten(_PREFIX.sub("", line), 200))


def _ambiguous(named: str, count: int, text: str) -> str:
    shown = "; ".join(shorten(found, 60) for found in _MATCH.findall(text)[:_SHOWN])
    more = f"; {count - _SHOWN} more" if count > _SHOWN else ""
    return f"{named} matches {count} elements: {shown}{more}. Use a ref of a snapshot or a longer selector."


def _describe_nothing(named: str, target: str) -> str:
    # To CSS, words are elements in each other.
    hint = f" For words on the page write text={named}." if _WORDS.fullmatch(target) else ""
    return f"Nothing matches {named}.{hint} Call snapshot to see the page."


def _too_late(named: str, target: str, text: str) -> str:
    for sign, state in _STATES.items():
        if sign in text:
            return f"{named} {state}."
    if _LOADING.search(text):
        return "The page did not load in time."
    looked = _LOOKING.split(text)
    if len(looked) > 1 and "resolved to" not in looked[-1]:
        return describe_gone(named) if ref_of(target) else _describe_nothing(named, target)
    return f"The page did not react in time{f' to what was done to {named}' if named else ''}."
