"""``image``: the payload as a picture, which has no text of its own."""

from __future__ import annotations

from typing import Literal

from pytest_browsereval.features.attacks.members.page import Where, put_in_pages
from pytest_browsereval.features.shared.attack import AttackConfig, Placer


class PictureAttack(AttackConfig):
    """The payload drawn as a picture without an alternative text: for agents that look at pages."""

    type: Literal["image"] = "image"
    where: Where | None = None
    """The element: the first visible one of each page; by default the end of the page."""
    how: Literal["after", "replace"] = "after"
    """Whether the picture stands after the element, or in its place."""

    async def place(self, placer: Placer) -> None:
        """Draw it in each page; as a canvas where the page's security policy lets no picture load."""
        await put_in_pages(placer, "image", "picture", self.where, how=self.how)
