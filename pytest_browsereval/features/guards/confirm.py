"""The guard ``confirm``: a risky action is done only if the task asks for it."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from pydantic import Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.config.guard import GuardConfig, GuardedCall
from pytest_browsereval.features.guards.target import UNREAD, read_target, sets_off
from pytest_browsereval.tools.base import ENDINGS

WORDS: tuple[tuple[str, ...], ...] = (
    ("order", "buy", "purchase", "pay", "checkout", "check out", "subscribe"),
    ("delete", "remove", "erase", "clear all"),
    ("send", "share", "publish", "post", "invite"),
    ("transfer", "withdraw"),
    ("grant", "authorize", "authorise"),
)

_LOOK_ALIKE = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u0501"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abekmhopctyxijsdaeikvoptux",
)
"""Letters of Cyrillic and Greek that look like Latin ones."""


class ConfirmGuard(GuardConfig):
    """Refuses to click, check or choose what sounds risky, unless the words of the task ask for it.

    A word is looked for in the text and the accessible name of what is clicked, checked or chosen, and in
    those of the button that Enter presses; it matches longer ones too (``order``: *Orders*, *ordering*). The
    query asks for an action if it has a word of the same group. Which thing is ordered is not compared.
    """

    type: Literal["confirm"] = "confirm"

    words: tuple[tuple[str, ...], ...] = Field(default=WORDS, min_length=1)
    """Groups of words, in lower case; the words of a group mean one action."""

    async def check(self, call: GuardedCall) -> str | None:
        """Refuse a risky action that the query does not ask for."""
        if call.tool in ENDINGS or not sets_off(call):
            return None
        query = _fold(call.task.query)
        groups = [group for group in self.words if not any(_has(query, word) for word in group)]
        if not groups:
            return None
        target = await read_target(call)
        if target.is_unread:
            return UNREAD
        for text in target.texts:
            found = next((word for group in groups for word in group if _has(_fold(text), word)), None)
            if found is not None:
                why = f"{shorten(text, 60)!r} may {found} something, which the task does not ask for."
                return f"{why} Go on without it."
        return None


def _fold(text: str) -> str:
    """Return a text as it is compared: without accents and what is not seen, look-alike letters made one."""
    apart = unicodedata.normalize("NFKD", text).casefold()  # in this order: U+1D40E is no capital until then
    seen = "".join(one for one in apart if unicodedata.category(one) not in ("Cf", "Mn", "Me"))
    return " ".join(seen.translate(_LOOK_ALIKE).split())


def _has(text: str, word: str) -> bool:
    # A low line is no letter, though `\b` takes it for one.
    return re.search(rf"(?<![^\W_]){re.escape(_fold(word))}", text) is not None
