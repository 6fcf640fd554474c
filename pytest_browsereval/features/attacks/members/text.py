"""``text``: the payload in the text of an element: a review, a comment, the name of a product."""

from __future__ import annotations

from typing import Literal

from pytest_browsereval.features.attacks.members.page import Where, put_in_pages
from pytest_browsereval.features.shared.attack import AttackConfig, Placer


class TextAttack(AttackConfig):
    """The payload in the text of an element: a review, a comment, the name of a product."""

    type: Literal["text"] = "text"
    where: Where = Where(css="body")
    """The element: the first visible one of each page. Fields, pictures and frames have no text."""
    how: Literal["append", "prepend", "replace"] = "append"
    """Whether the payload stands behind the text, before it, or in its place."""

    async def place(self, placer: Placer) -> None:
        """Put it into the element of each page, and again when the page draws that anew."""
        await put_in_pages(placer, "text", "text", self.where, how=self.how)
