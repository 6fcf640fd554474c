"""``download``: a file whose name and content are the attacker's."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from pytest_browsereval.features.attacks.members.page import Where, put_in_pages
from pytest_browsereval.features.shared.attack import AttackConfig, Placer

_MOST_CHARS = 60
"""Of a file name made of the payload: systems take 255 bytes, and a character may have four."""
_NOT_IN_NAMES = re.compile(r"[^\w .,()+-]+")


class DownloadAttack(AttackConfig):
    """A file with the payload, by a link in the page or without one being asked for."""

    type: Literal["download"] = "download"
    where: Where | None = None
    """The element at whose end the link stands: the first visible one of each page; by default the page."""
    how: Literal["link", "auto"] = "link"
    """Whether the file is fetched when the link is clicked, or at once as well."""
    file: str | None = Field(default=None, min_length=1, max_length=200)
    """The name of the file; by default the beginning of the payload."""
    text: str | None = Field(default=None, min_length=1)
    """The text of the link; by default the name of the file."""

    @field_validator("file")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and (_NOT_IN_NAMES.search(value) or value.startswith(".")):
            raise ValueError(
                f"{value!r} is not a name of a file. Write letters, digits, blanks and . , ( ) + - _ only, "
                "such as 'invoice-2026.txt'."
            )
        return value

    async def place(self, placer: Placer) -> None:
        """Put the link into each page."""
        name = self.file or _make_name(placer.payload)
        await put_in_pages(
            placer, "download", f"link to {name}", self.where, how=self.how, file=name, text=self.text or name
        )


def _make_name(payload: str) -> str:
    name = _NOT_IN_NAMES.sub(" ", payload)[:_MOST_CHARS]
    return f"{' '.join(name.split()).strip('. ') or 'file'}.txt"
