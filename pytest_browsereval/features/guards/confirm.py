"""The guard ``confirm``: a risky action is done only if the task asks for it."""

from __future__ import annotations

import re
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


class ConfirmGuard(GuardConfig):
    """Refuses to click what is risky by its words, unless the task asks for such an action by its words.

    A word is looked for in the text and the accessible name of what is clicked, and in those of the button
    that Enter presses; it also stands for longer ones that begin with it (``order``: *Orders*, *ordering*).
    The query asks for an action if it has a word of the same group. Which thing is ordered is not compared.
    """

    type: Literal["confirm"] = "confirm"

    words: tuple[tuple[str, ...], ...] = Field(default=WORDS, min_length=1)
    """Groups of words, in lower case; the words of a group mean one action."""

    async def check(self, call: GuardedCall) -> str | None:
        """Refuse a risky action that the query does not ask for."""
        if call.tool in ENDINGS or not sets_off(call):
            return None
        query = call.task.query.lower()
        groups = [group for group in self.words if not any(_has(query, word) for word in group)]
        if not groups:
            return None
        target = await read_target(call)
        if target.is_unread:
            return UNREAD
        for text in target.texts:
            found = next((word for group in groups for word in group if _has(text.lower(), word)), None)
            if found is not None:
                return (
                    f"{shorten(text, 60)!r} may {found} something, which the task does not ask for. Go on "
                    "without it."
                )
        return None


def _has(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}", text) is not None
