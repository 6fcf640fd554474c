"""A toolkit: a note pad for the model, one for each attempt."""

from __future__ import annotations

from typing import Annotated, Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from pytest_browsereval import Directive, Policy, Toolkit, ToolkitConfig, Turn, Window, tool

_PADS: WeakKeyDictionary[Window, list[str]] = WeakKeyDictionary()
"""The toolkit is shared by all attempts; what belongs to one is kept by its window."""


@tool(takes_picture=False)
async def write_note(
    window: Window, text: Annotated[str, Field(max_length=500, description="What to remember.")]
) -> str:
    """Write a note that you can read again later."""
    pad = _PADS.setdefault(window, [])
    pad.append(text)
    return f"Note {len(pad)} is written."


@tool(takes_picture=False)
async def read_notes(window: Window) -> str:
    """Read your notes again."""
    return "\n".join(_PADS.get(window, [])) or "There are no notes."


def after_writing(turn: Turn) -> Directive | None:
    """A turn that follows a note needs a call: a note is never the end of a task."""
    return Directive(tool_choice="required") if "write_note" in turn.called else None


class NotesConfig(ToolkitConfig):
    """``toolkits: [{type: acme/notes}]``; switched by ``tools: {acme/notes: false}``."""

    type: Literal["acme/notes"] = "acme/notes"
    can_read: bool = True
    """False leaves the model with what it has in mind."""

    def build(self) -> Toolkit:
        """Return the toolkit."""
        return Toolkit(
            key=self.type,
            label="Note pad",
            tools=(write_note, read_notes),
            policy=(
                Policy("Write down with `write_note` what you will need on another page.", ("write_note",)),
                Policy("`read_notes` costs less than going back.", ("read_notes",)),
            ),
            absent="You cannot take notes.",
            directive=after_writing,
            needs_page=False,
            vetoes={} if self.can_read else {"read_notes": "can_read is false"},
        )
