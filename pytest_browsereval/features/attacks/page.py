"""What attacks that change pages share: the element that is meant, and the script that works in the page."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field, JsonValue, model_validator

from pytest_browsereval.config.block import Block
from pytest_browsereval.features.shared.attack import Placer

_KINDS = "Write one of {css: SELECTOR}, {text: PART OF ITS TEXT}."
_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


class Where(Block):
    """Which element: the first visible one of each page, by ``css`` or ``text``."""

    css: str | None = Field(default=None, min_length=1)
    """A CSS selector. Open shadow trees and frames are searched too."""
    text: str | None = Field(default=None, min_length=1)
    """A part of its text, in any case: the innermost element that has it."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Where:
        if (self.css is None) is (self.text is None):
            raise ValueError(f"where has {'no element' if self.css is None else 'css and text'}. {_KINDS}")
        return self

    def __str__(self) -> str:
        return str(self.css) if self.css is not None else f"text {json.dumps(self.text, ensure_ascii=False)}"


async def put_in_pages(
    placer: Placer, what: str, label: str, where: Where | None = None, **options: JsonValue
) -> None:
    """Have the script put the payload into the pages.

    Args:
        placer: of the attempt.
        what: a type of the script: ``text``, ``hidden``, ``modal``.
        label: what reports say of the place, before the element.
        where: the element; None: the body of a tab's page, not of its frames.
        options: for the type.
    """
    argument: dict[str, JsonValue] = {
        "payload": placer.payload,
        "attacker": placer.attacker,
        "where": None if where is None else where.model_dump(exclude_none=True),
        "label": label if where is None else f"{label} of {where}",
        **options,
    }
    await placer.run_in_pages(f"({_SCRIPT})({json.dumps(what)})", argument)
