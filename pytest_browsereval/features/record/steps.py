"""The list of what was recorded: steps, joined as a person would write them, and checks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.spellings import list_spellings

Kind = Literal["click", "double", "fill", "switch", "select", "key", "drag", "move", "check"]
"""What was done: ``switch`` is a check box or radio button, ``move`` is to another page or tab."""

LONGEST_SHOWN = 60
SHORTEST_FOUND = 4
"""Characters of a secret that is looked for in what pages say; fewer stand in any text."""

_JOINED: dict[Kind, tuple[Kind, ...]] = {
    "fill": ("fill", "click"),
    "switch": ("click", "switch"),
    "select": ("click", "select"),
    "double": ("click",),
}
"""What an item takes the place of where it came right before, on the same element."""


@dataclass(frozen=True)
class Item:
    """A step or a check, in the order in which they were made."""

    kind: Kind
    content: dict[str, JsonValue] = field(repr=False)
    """As the row has it: a tool call, or a check. A secret stands in it as it was typed."""
    key: str = ""
    """Of the element; empty where there is none."""
    secret: str = ""
    """What kind of secret the text is, such as ``password``; empty if it is none."""

    @property
    def is_check(self) -> bool:
        """Whether it is a check."""
        return self.kind == "check"

    @property
    def text(self) -> str:
        """What the bar shows, without secrets."""
        if self.is_check:
            return ", ".join(f"{key} {_shown(value)}" for key, value in self.content.items())
        tool, *arguments = self.content.items()
        words = (_shown(HIDDEN if self.secret and key == "text" else value) for key, value in arguments)
        return " ".join((str(tool[1]), *words))

    @property
    def typed(self) -> str:
        """The secret that was typed; empty if there is none."""
        return str(self.content["text"]) if self.secret else ""


class ItemList:
    """What was recorded so far."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def add(self, item: Item) -> None:
        """Add an item, joined with the one before where both are one thing to a person.

        Keys that are typed one after another are one ``fill``; a click that gave a field the focus, and a tab
        key, are no step of their own where the field is filled then; a click on a check box is a ``check``.
        """
        if item.kind in ("fill", "click", "switch", "select"):
            while self.items and self.items[-1].content.get("key") in ("Tab", "Shift+Tab"):
                self.items.pop()
        for _ in range(2 if item.kind == "double" else 1):
            last = self.items[-1] if self.items else None
            if last and item.key and last.key == item.key and last.kind in _JOINED.get(item.kind, ()):
                self.items.pop()
        self.items.append(item)

    def undo(self) -> None:
        """Forget the last item."""
        if self.items:
            self.items.pop()

    @property
    def steps(self) -> list[Item]:
        """The steps."""
        return [item for item in self.items if not item.is_check]

    @property
    def checks(self) -> list[Item]:
        """The checks."""
        return [item for item in self.items if item.is_check]


def list_secrets(items: Iterable[Item]) -> list[str]:
    """Return what was typed into fields of secrets, each once."""
    return list(dict.fromkeys(item.typed for item in items if item.typed))


def find_leak(items: Iterable[Item]) -> Item | None:
    """Return the first item with a secret elsewhere than where it was typed: pages repeat what they get."""
    items = list(items)
    secrets = list_secrets(items)
    for item in items:
        if any(holds_secret(text, secrets) for text in _list_texts(item, secrets)):
            return item
    return None


def holds_secret(text: str, secrets: Iterable[str]) -> bool:
    """Return whether one of the secrets stands in a text, in any of its spellings."""
    return any(
        spelling in text for spelling in list_spellings(one for one in secrets if len(one) >= SHORTEST_FOUND)
    )


def _list_texts(item: Item, secrets: list[str]) -> Iterator[str]:
    for key, value in item.content.items():
        is_whole = key == "text" and value in secrets and not item.is_check
        if not is_whole:
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
