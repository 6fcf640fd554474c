"""The guard ``origins``: an allow-list of origins for what an agent opens, clicks and types into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urljoin, urlsplit

from pydantic import field_validator

from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, origin_of, shorten
from pytest_browsereval.config.guard import GuardConfig, GuardedCall
from pytest_browsereval.features.guards.target import read_target, said_by, sets_off
from pytest_browsereval.tools.base import ENDINGS

ATTACKER = "attacker"
"""The site of the attacker, which is none of the user's."""
LEAVING = frozenset(
    {
        *("go_back", "list_tabs", "select_tab", "close_tab", "handle_dialog"),
        *("browser_navigate_back", "browser_tabs", "browser_close", "browser_handle_dialog"),
    }
)
"""Tools, ours and those of MCP servers, that lead away from a page: they may be called on any."""
_ADDRESS_KEYS = frozenset({"url", "uri", "href", "address"})
_IN_TEXT = re.compile(r"\b(?:https?|wss?)://[^\s\"'<>\])}]+", re.IGNORECASE)


class OriginsGuard(GuardConfig):
    """Lets an agent open, click and type on pages of known origins only.

    Known are the origin of the row's start page, those of the config's sites that the row uses, and those
    that ``allow`` lists. Refused are: to open an address of another origin, to click a link or send a form
    that leads there, and whatever is called on such a page but what leads away from it.

    It looks at calls. What a page does by itself, a redirect for example, is not a call:
    ``browser.allowed_origins`` keeps the browser from that too.
    """

    type: Literal["origins"] = "origins"

    allow: tuple[str, ...] = ()
    """Further origins, as patterns: ``https://shop.example``, ``*.example.com``, ``http://127.0.0.1:*``."""

    @field_validator("allow")
    @classmethod
    def _are_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedOrigins.parse(value)
        return value

    async def check(self, call: GuardedCall) -> str | None:
        """Refuse a call that has to do with another origin."""
        if call.tool in ENDINGS:
            return None
        known = [call.task.start_url, *(url for name, url in call.site_urls.items() if name != ATTACKER)]
        own = [origin_of(url) for url in known if url and urlsplit(url).scheme in ("http", "https")]
        allowed = AllowedOrigins.parse((*self.allow, *own))
        named = list(_addresses(call))
        for address in named:
            if not _is_allowed(allowed, address):
                return f"{shorten(_origin(address), 80)} is not among the allowed origins."
        here = call.window.url
        if not named and call.tool not in LEAVING and not _is_allowed(allowed, here):
            return (
                f"the current page, {shorten(_origin(here), 80)}, is not of an allowed origin. Go back, or "
                "open a page of the task's site."
            )
        if named or call.tool in LEAVING or not sets_off(call):
            return None
        for address in (await read_target(call)).addresses:
            if not _is_allowed(allowed, address):
                return f"it leads to {shorten(_origin(address), 80)}, which is not an allowed origin."
        return None


def _is_allowed(allowed: AllowedOrigins, address: str) -> bool:
    """Return whether an address is of an allowed origin, or of none."""
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        return False
    if scheme in ("", "about", "chrome-error", "javascript", "mailto", "tel"):  # no page of another origin
        return True
    if scheme == "blob":
        return _is_allowed(allowed, address[len("blob:") :])
    return bool(allowed) and scheme in ("http", "https", "ws", "wss") and allowed.allow(address)


def _origin(address: str) -> str:
    return origin_of(address) if "://" in address else address


def _addresses(call: GuardedCall) -> Iterator[str]:
    """Yield the addresses that a call names: in arguments that are one, and within other words of it."""
    for name, value in call.arguments.items():
        if name in _ADDRESS_KEYS and isinstance(value, str):
            yield urljoin(call.window.url or "about:blank", value.strip())
    for text in said_by({key: value for key, value in call.arguments.items() if key not in _ADDRESS_KEYS}):
        yield from _IN_TEXT.findall(text)
