"""What the script in a page reports, and what is known of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

StepKind = Literal["click", "double", "fill", "switch", "select", "files", "key", "drag", "hover", "scroll"]
"""What was done: ``switch`` is a check box or radio button."""
OfPage = Literal["hello", "traverse", "look", "nothing", "note", "dialog", "closed"]
OfBar = Literal["mode", "text", "value", "address", "remove", "place", "finish", "cancel"]


class Signal(BaseModel):
    """What the script of a frame reports."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    kind: StepKind | OfPage | OfBar
    key: str = Field(default="", max_length=60)
    targets: tuple[str, ...] = Field(default=(), max_length=8)
    text: str = Field(default="", max_length=20_000)
    secret: str = Field(default="", max_length=40)
    button: Literal["left", "right"] = "left"
    to: tuple[str, ...] = Field(default=(), max_length=8)
    """Where something was dropped: targets, the best first."""
    point: tuple[int, int] | None = None
    """Within an element that is a drawing, or where something is dropped; of the viewport, where a drag ends;
    where the bar is, in thousandths."""
    modifiers: tuple[Literal["Alt", "Control", "Meta", "Shift"], ...] = Field(default=(), max_length=4)
    """Keys that were held down."""
    start: tuple[int, int] | None = None
    """Of the viewport, where a drag over a drawing began."""
    is_on: bool = False
    value: str | bool = ""
    values: tuple[Annotated[str, Field(max_length=10_000)], ...] = Field(default=(), max_length=100)
    """Options that are chosen in a list, or names of files."""
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
    """Whether a document is the same one as before, or a value the one that its page began with."""
    way: int = 0
    """How far to go through the history, or notches of the wheel, or the place of an item in the list."""
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
