"""The walls that are known, as data, and how a page is compared with them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_browsereval.addresses import is_same_site
from pytest_browsereval.browsers.base import PageError, Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.config.wall import WallConfig
from pytest_browsereval.graders.observing import describe_broken

_TITLES = {
    "a bot check": (
        "just a moment...", "attention required! | cloudflare", "pardon our interruption*", "ddos-guard",
        "robot check", "bot verification", "human verification", "are you a robot?", "verify you are human*",
        "checking your browser before*", "vercel security checkpoint",
    ),
    "a maintenance page": (
        "site maintenance", "scheduled maintenance", "maintenance mode", "under maintenance*",
        "* under maintenance", "down for maintenance*", "* is down for maintenance", "we'll be back soon*",
        "we\u2019ll be back soon*",
    ),
    "a login that has expired": (
        "session expired*", "* session has expired*", "session timed out*", "* session has timed out*",
    ),
}  # fmt: skip
"""Titles of pages in lower case, where ``*`` stands for any characters. One that apps have for pages of their
own, such as *Access denied* or *Maintenance*, is none of them."""
KNOWN = tuple(WallConfig(name=name, title=title) for name, titles in _TITLES.items() for title in titles)
_LOOK_S = 2.0


async def note_wall(window: Window, sites: Sequence[str], own: Sequence[WallConfig]) -> None:
    """Note that the page of a window is a wall, if it is one of the row's own sites.

    Args:
        window: whose agent has ended.
        sites: addresses of the start page and of the eval's sites.
        own: walls of the config.
    """
    if not isinstance(window, PlaywrightWindow) or describe_broken(window):
        return  # a bot check answers 403: of a wall, that is not the agent's doing
    if not any(is_same_site(url, window.url) for url in sites):
        return  # where an agent goes by itself is its own doing
    title = await quietly(window.page.title(), _LOOK_S)
    if title is None:
        return
    for wall in (*own, *KNOWN):
        if _matches(wall.title, title) and _matches(wall.url, window.url):
            why = f"it is {wall.name}: {shorten(title, 80)!r}"
            window.take_error(PageError(shorten(window.url), None, why=why))
            return


def _matches(pattern: str | None, text: str) -> bool:
    if pattern is None:
        return True
    form = ".*".join(map(re.escape, pattern.casefold().split("*")))
    return re.fullmatch(form, " ".join(text.casefold().split())) is not None
