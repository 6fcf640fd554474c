"""The conversation that a model is sent: page text fenced, and old pages and pictures left out."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.llm.completion import Completion
from pytest_browsereval.redaction.known import beginning

LONG = 1_500
"""Characters from which on a text counts as a page, and is left out once it is old."""

LONGEST = 60_000
"""Characters of one text that are sent; the rest is cut."""

OLD_PAGE = "[{length} characters of an older page were left out here. Look again if you need them.]"
OLD_PICTURE = "[An older picture was left out here.]"


@dataclass
class _Entry:
    message: dict[str, Any]
    when_old: str = ""
    """The content once newer pages or pictures have taken its place."""


class Conversation:
    """Grows by a few lines a turn: only the latest pages and pictures stay in full.

    Args:
        keep_pages: how many pages stay in full. Older ones are left out when there are twice as many,
            so that most requests begin like the one before, which providers cache.
        keep_pictures: how many pictures stay.
        waits: whether pages wait until there are three times as many, pictures until four times, and both go
            at once: for a provider that takes a price for what it has to cache anew.
        nonce: stands in the fences; random by default, so that no page can forge one.
    """

    def __init__(
        self, *, keep_pages: int = 3, keep_pictures: int = 2, waits: bool = False, nonce: str | None = None
    ) -> None:
        self.nonce = nonce or secrets.token_hex(8)
        self._keep_pages = keep_pages
        self._keep_pictures = keep_pictures
        self._most_pages, self._most_pictures = 2 * keep_pages, keep_pictures
        if waits:
            self._most_pages, self._most_pictures = 3 * keep_pages, 4 * keep_pictures
        self._waits = waits
        self._entries: list[_Entry] = []
        self._pages: list[_Entry] = []
        self._pictures: list[_Entry] = []

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What to send."""
        return [entry.message for entry in self._entries]

    def fence(self, text: str) -> str:
        """Return text of a page between marks that it cannot contain."""
        # A page that has seen it in a form or an address could close the fence.
        text = text.replace(self.nonce, "")
        if len(text) > LONGEST:
            text = f"{beginning(text, LONGEST)}\n[cut after {LONGEST} characters]"
        return f"[page {self.nonce}]\n{text}\n[end of page {self.nonce}]"

    def add_system(self, text: str) -> None:
        """Add what the model is to keep to."""
        self._entries.append(_Entry({"role": "system", "content": text}))

    def add_user(self, text: str, page: str = "") -> None:
        """Add what the model reads, and after it the text of a page, which is fenced."""
        self._add({"role": "user"}, text, page)

    def add_reply(self, reply: Completion) -> None:
        """Add what the model said."""
        self._entries.append(_Entry(reply.message))

    def add_result(self, call_id: str, text: str, page: str = "") -> None:
        """Add what a tool call gave, and after it what the tool said of the page, which is fenced."""
        self._add({"role": "tool", "tool_call_id": call_id}, text, page)

    def add_picture(self, data: bytes, media_type: str, caption: str) -> None:
        """Add a picture of the page."""
        url = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
        parts = [{"type": "text", "text": caption}, {"type": "image_url", "image_url": {"url": url}}]
        entry = _Entry({"role": "user", "content": parts}, OLD_PICTURE)
        self._entries.append(entry)
        self._pictures.append(entry)
        self._leave_out()

    def _add(self, head: dict[str, Any], text: str, page: str) -> None:
        content = f"{text}\n{self.fence(page)}" if page else text
        entry = _Entry({**head, "content": content})
        self._entries.append(entry)
        if len(page) >= LONG:
            entry.when_old = f"{text}\n{OLD_PAGE.format(length=len(page))}"
            self._pages.append(entry)
            self._leave_out()

    def _leave_out(self) -> None:
        has_pages = len(self._pages) > self._most_pages
        has_pictures = len(self._pictures) > self._most_pictures
        if has_pages or (has_pictures and self._waits):
            self._pages = _newest(self._pages, self._keep_pages)
        if has_pictures or (has_pages and self._waits):
            self._pictures = _newest(self._pictures, self._keep_pictures)


def _newest(entries: list[_Entry], count: int) -> list[_Entry]:
    """Return the newest entries, and shorten the others."""
    start = max(0, len(entries) - count)
    for old in entries[:start]:
        old.message = {**old.message, "content": old.when_old}
    return entries[start:]
