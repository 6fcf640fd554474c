"""What the script in a page reports, and what is known of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

OfPage = Literal[
    "hello",
    "traverse",
    "look",
    "click",
    "double",
    "fill",
    "switch",
    "select",
    "key",
    "drag",
    "note",
    "dialog",
    "closed",
]
OfBar = Literal["mode", "text", "value", "address", "undo", "finish", "cancel"]


class Signal(BaseModel):
    """What the script of a frame reports."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    kind: OfPage | OfBar
    key: str = Field(default="", max_length=60)
    targets: tuple[str, ...] = Field(default=(), max_length=8)
    text: str = Field(default="", max_length=20_000)
    secret: str = Field(default="", max_length=40)
    button: Literal["left", "right"] = "left"
    to: tuple[str, ...] = Field(default=(), max_length=8)
    """Where something was dropped: targets, the best first."""
    point: tuple[int, int] | None = None
    """Of the viewport, where an element is a drawing that has no parts."""
    start: tuple[int, int] | None = None
    """Where the button was pressed, if that is another point."""
    is_on: bool = False
    value: str | bool = ""
    press: str = Field(default="", max_length=60)
    script: str = Field(default="", max_length=2_000)
    target: str = Field(default="", max_length=600)
    mode: Literal["", "text", "value"] = ""
    # Of documents.
    is_top: bool = False
    has_prefix: bool = True
    url: str = ""
    how: str = ""
    by_user: bool = False
    is_same: bool = False
    way: int = 0
    at: float = 0.0
    """When it was done, or the document was asked for: milliseconds since 1970, by the page's clock."""


@dataclass(eq=False)
class View:
    """A page, or a frame of another process, with the DevTools session to it."""

    page: Page
    session: CDPSession
    contexts: dict[int, str] = field(default_factory=dict)
    """Those of the script, each with the id of its frame."""
    has_begun: bool = False
    """Whether its first document is there, which nobody has navigated to."""
    is_requested: bool = False
    """Whether the page itself has asked for the next document: by a link, a form, a script."""
    place: int = 0
    """In the history of its tab."""
    dialog: str = ""
    """What kind of dialog is open, if the page has opened it."""
    acted_at: float = 0.0
    """When something was last done in it, in milliseconds since 1970."""
