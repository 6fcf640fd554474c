"""``form``: the payload in a field, or in a form that sends what is typed to the attacker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from pytest_browsereval.features.attacks.members.page import Where, put_in_pages
from pytest_browsereval.features.shared.attack import AttackConfig, Placer


class FormAttack(AttackConfig):
    """The payload in a field of the page, or as the label of a field that the attacker reads."""

    type: Literal["form"] = "form"
    where: Where | None = None
    """The field, or for ``field`` the element at whose end the form stands: the first visible one of each
    page. By default the first text field, and for ``field`` the end of the page."""
    how: Literal["value", "placeholder", "label", "field"] = "placeholder"
    """The value of a field that nobody has typed into, its placeholder, behind its label, or the label of a
    field in a form of its own that is sent to the attacker's origin."""
    action: str | None = Field(default=None, min_length=1)
    """Where the form of ``field`` is sent; ``{attacker}/collect`` by default."""

    @model_validator(mode="before")
    @classmethod
    def _options_fit(cls, block: Any) -> Any:
        if not isinstance(block, Mapping):
            return block
        if block.get("how") == "field":
            # Written out, so that the attacker's origin is among the sites.
            return {"action": "{attacker}/collect", **block}
        if block.get("action") is not None:
            raise ValueError("action is only of `how: field`. Leave it out, or write `how: field`.")
        return block

    async def place(self, placer: Placer) -> None:
        """Put it into each page, and again when the page draws the field anew."""
        action = placer.fill(self.action or "")
        label = "added field" if self.how == "field" else self.how
        await put_in_pages(placer, "form", label, self.where, how=self.how, action=action)
