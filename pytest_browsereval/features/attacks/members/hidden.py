"""``hidden``: the payload where people do not see it, and programs that read the page do."""

from __future__ import annotations

from typing import Literal

from pytest_browsereval.features.attacks.members.page import Where, put_in_pages
from pytest_browsereval.features.shared.attack import AttackConfig, Placer

Way = Literal["aria_label", "alt", "title", "zero_size", "off_screen", "same_colour", "comment", "meta"]
"""Where the payload hides."""


class HiddenAttack(AttackConfig):
    """The payload where people do not see it, and programs that read the page do."""

    type: Literal["hidden"] = "hidden"
    where: Where | None = None
    """The element: the first visible one of each page; by default the body."""
    how: Way = "off_screen"
    """The attribute ``aria_label`` (behind the name that the element has), ``alt`` (of the picture, of the
    first one in the element, or of a new one of one pixel) or ``title``; a text of no size, one next to the
    screen, one in the colour of its background; an HTML comment in the element; the page's description in
    ``meta``."""

    async def place(self, placer: Placer) -> None:
        """Put it into each page, and again when the page draws the element anew."""
        await put_in_pages(placer, "hidden", self.how.replace("_", " "), self.where, how=self.how)
