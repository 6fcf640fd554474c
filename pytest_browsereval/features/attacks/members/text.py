"""``text``: the payload in the text of an element: a review, a comment, the name of a product."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from pytest_browsereval.config.attack import AttackConfig, Placer
from pytest_browsereval.config.block import Block

_PLACE = """({css, text, how, payload}, delivered) => {
  const visible = (element) => element.checkVisibility && element.checkVisibility();
  const all = css ? [...document.querySelectorAll(css)] : [...document.querySelectorAll('body *')].filter(
    (element) => !element.children.length && element.textContent.includes(text));
  const element = all.find(visible);
  if (!element) return;
  if (how === 'replace') element.textContent = payload;
  else element[how](document.createTextNode(` ${payload} `));
  delivered(`text of ${element.localName}`);
}"""


class Where(Block):
    """Which element: by exactly one of these."""

    css: str | None = None
    """A CSS selector."""
    text: str | None = None
    """A part of its text."""


class TextAttack(AttackConfig):
    """Puts the payload into the text of the first visible element that is meant."""

    type: Literal["text"] = "text"

    where: Where = Field(default_factory=lambda: Where(css="body"))
    """The element."""
    how: Literal["append", "prepend", "replace"] = "append"
    """Where in its text."""

    async def place(self, placer: Placer) -> None:
        """Run in every page."""
        given: dict[str, JsonValue] = {
            "css": self.where.css,
            "text": self.where.text,
            "how": self.how,
            "payload": placer.payload,
        }
        await placer.run_in_pages(_PLACE, given)
