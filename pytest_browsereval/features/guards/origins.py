"""The guard ``origins``: an allow-list of origins for what an agent opens, clicks and types into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import field_validator
from pydantic_core import Url

from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, origin_of, shorten
from pytest_browsereval.config.guard import GuardConfig, GuardedCall
from pytest_browsereval.features.guards.target import (
    UNREAD,
    Target,
    read_target,
    said_by,
    sets_off,
    touches_frame,
)
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
_SPECIAL = frozenset({"http", "https", "ws", "wss"})
_HARMLESS = frozenset({"", "about", "chrome-error", "javascript", "mailto", "tel"})
"""Schemes of no page of another origin."""
_BLANK = "".join(map(chr, range(33)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_IN_TEXT = re.compile(r"\b(?:https?|wss?):[\\/]+[^\s\"'<>\])}]+", re.IGNORECASE)


class OriginsGuard(GuardConfig):
    """Lets an agent open, click and type on pages of known origins only.

    Known are the origin of the row's start page, those of the config's sites that the row uses, and those
    that ``allow`` lists. It refuses to open an address of another origin, and to click a link or send a form
    that leads there. On a page or in a frame of such an origin it refuses all calls but those that lead away.

    What a page does by itself, a redirect for example, is not a call: ``browser.allowed_origins`` keeps the
    browser from that too.
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
        urls = [call.task.start_url, *(url for name, url in call.site_urls.items() if name != ATTACKER)]
        own = [origin_of(url) for url in urls if url and urlsplit(url).scheme in ("http", "https")]
        known = _Known(AllowedOrigins.parse((*self.allow, *own)), call.window.url)
        if foreign := known.find_foreign(_addresses(call)):
            return f"{foreign} is not among the allowed origins."
        if call.tool in LEAVING or _opens(call):
            return None
        if foreign := known.find_foreign([call.window.url]):
            why = f"the current page, {foreign}, is not of an allowed origin."
            return f"{why} Go back, or open a page of the task's site."
        is_click = sets_off(call)
        if not is_click and not touches_frame(call):
            return None
        return _check_target(await read_target(call), known, is_click=is_click)


def _check_target(target: Target, known: _Known, *, is_click: bool) -> str | None:
    if target.is_unread:
        return UNREAD
    if foreign := known.find_foreign(target.pages):
        return f"it is in a frame of {foreign}, which is not an allowed origin."
    if is_click and (foreign := known.find_foreign(target.addresses)):
        return f"it leads to {foreign}, which is not an allowed origin."
    return None


@dataclass(frozen=True)
class _Known:
    allowed: AllowedOrigins
    base: str
    """The address of the current page, which relative ones belong to."""

    def find_foreign(self, addresses: Iterable[str]) -> str | None:
        """Return the origin of the first address that is not of an allowed one, as a message names it."""
        for given in addresses:
            try:
                address = read_address(given, self.base)
                if not self._allow(address):
                    return shorten(origin_of(address) if "://" in address else address, 80)
            except ValueError:
                return shorten(given, 80)
        return None

    def _allow(self, address: str) -> bool:
        scheme = urlsplit(address).scheme.lower()
        if scheme == "blob":
            return self._allow(address[len("blob:") :])
        is_known = bool(self.allowed) and scheme in _SPECIAL and self.allowed.allow(address)
        return scheme in _HARMLESS or is_known


def _opens(call: GuardedCall) -> bool:
    """Return whether a call opens an address, and does nothing to the page."""
    return "target" not in call.arguments and any(
        name in _ADDRESS_KEYS and isinstance(value, str) for name, value in call.arguments.items()
    )


def _addresses(call: GuardedCall) -> Iterator[str]:
    """Yield the addresses that a call names: in arguments that are one, and within other words of it."""
    for name, value in call.arguments.items():
        if name in _ADDRESS_KEYS and isinstance(value, str):
            yield value
    for text in said_by({key: value for key, value in call.arguments.items() if key not in _ADDRESS_KEYS}):
        yield from _IN_TEXT.findall(text)


def read_address(text: str, base: str) -> str:
    """Return an address with the host that browsers see in it, as https://url.spec.whatwg.org has it.

    Args:
        text: the address.
        base: what a relative one belongs to; only its origin is kept of one.

    Raises:
        ValueError: it is none.
    """
    text = re.sub(r"[\t\r\n]", "", text).strip(_BLANK)
    scheme = found[1].lower() if (found := _SCHEME.match(text)) else ""
    if scheme and scheme not in _SPECIAL:
        return text
    if not scheme and not re.match(r"[\\/]{2}", text):
        return base
    own = urlsplit(base).scheme
    return str(Url(text if scheme else f"{own if own in _SPECIAL else 'https'}:{text}"))
