"""The list of what was recorded: steps, joined as a person would write them, and checks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.spellings import list_spellings

Kind = Literal["click", "double", "fill", "switch", "select", "key", "drag", "move", "check"]
"""What was done: ``switch`` is a check box or radio button, ``move`` is to another page or tab."""

LONGEST_SHOWN = 60
ANY_KIND = "password"
"""The kind of a secret of which nothing else is known."""
SHORTEST_FOUND = 4
"""Characters of a secret that is looked for in any part of what pages say; fewer are looked for as words."""

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
            return ", ".join(f"{key} {_format_value(value)}" for key, value in self.content.items())
        tool, *arguments = self.content.items()
        words = (
            _format_value(HIDDEN if self.secret and key == "text" else value) for key, value in arguments
        )
        return " ".join((str(tool[1]), *words))

    @property
    def typed(self) -> str:
        """The secret that was typed; empty if there is none."""
        return str(self.content["text"]) if self.secret else ""


class ItemList:
    """What was recorded so far.

    Args:
        known: secrets that may be typed into any field: the values of a config's variables.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._items: list[Item] = []
        self._known = dict.fromkeys(filter(None, known), ANY_KIND)
        self._earlier: dict[str, str] = {}
        """Secrets that are in no item any more, with their kinds: a page may still show them."""
        self._places: set[JsonValue] = set()
        """Targets of fields that held a secret."""

    @property
    def items(self) -> list[Item]:
        """Steps and checks; a text that is a secret elsewhere is one in each field it was typed into."""
        kinds = self._known | self._earlier | {item.typed: item.secret for item in self._items}
        kinds = {text: kind for text, kind in kinds.items() if len(text) >= SHORTEST_FOUND}
        return [
            replace(item, secret=kind)
            if not item.is_check and not item.secret and (kind := kinds.get(str(item.content.get("text"))))
            else item
            for item in self._items
        ]

    @property
    def secrets(self) -> list[str]:
        """Every secret that is known or was ever typed."""
        return list(dict.fromkeys((*self._known, *self._earlier, *list_secrets(self._items))))

    def add(self, item: Item) -> None:
        """Add an item, joined with the one before where both are one thing to a person.

        Keys that are typed one after another are one ``fill``; a click that gave a field the focus, and a tab
        key, are no step of their own where the field is filled then; a click on a check box is a ``check``.
        """
        target = item.content.get("target")
        if item.kind == "fill" and not item.secret and target in self._places:
            item = replace(item, secret=ANY_KIND)  # the page has put another field in its stead
        if item.secret:
            self._places.add(target)
        if item.kind in ("fill", "click", "switch", "select"):
            while self._items and self._items[-1].content.get("key") in ("Tab", "Shift+Tab"):
                self._items.pop()
        for _ in range(2 if item.kind == "double" else 1):
            last = self._items[-1] if self._items else None
            if last and _is_joined(last, item):
                self._items.pop()
                if not _goes_on(last.typed, item.typed):
                    self._keep(last)
        self._items.append(item)

    def undo(self) -> None:
        """Forget the last item."""
        if self._items:
            self._keep(self._items.pop())

    def _keep(self, item: Item) -> None:
        """Keep a secret that goes. Part of another is none, and one character by itself tells nothing."""
        if len(item.typed) > 1 and not any(_goes_on(item.typed, whole) for whole in self._earlier):
            self._earlier[item.typed] = item.secret

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


def find_leak(items: Iterable[Item], more: Iterable[str] = ()) -> Item | None:
    """Return the first item with a secret elsewhere than where it was typed: pages repeat what they get.

    Args:
        items: what was recorded.
        more: secrets besides those that the items type.
    """
    items = list(items)
    secrets = list_secrets(items)
    more = [*secrets, *more]
    for item in items:
        if any(holds_secret(text, more) for text in _list_texts(item, secrets)):
            return item
    return None


def holds_secret(text: str, secrets: Iterable[str]) -> bool:
    """Return whether a secret stands in a text, in any of its spellings and in small or large letters."""
    secrets, text = list(secrets), text.casefold()
    long = list_spellings(one for one in secrets if len(one) >= SHORTEST_FOUND)
    short = list_spellings(one for one in secrets if len(one) < SHORTEST_FOUND)
    return any(spelling.casefold() in text for spelling in long) or any(
        re.search(rf"(?<!\w){re.escape(spelling.casefold())}(?!\w)", text) for spelling in short
    )


def _list_texts(item: Item, secrets: list[str]) -> Iterator[str]:
    for key, value in item.content.items():
        is_whole = key == "text" and value in secrets and not item.is_check
        # What is no text is a number of a tab or a point, or whether a box is checked.
        if isinstance(value, str) and not is_whole and key not in ("tool", "button"):
            yield value


def _is_joined(last: Item, item: Item) -> bool:
    """Return whether an item takes the place of the last one."""
    if item.key and last.key == item.key and last.kind in _JOINED.get(item.kind, ()):
        return True
    # Some pages make a field anew for each key.
    if not last.kind == item.kind == "fill" or last.content["target"] != item.content["target"]:
        return False
    before, after = str(last.content["text"]), str(item.content["text"])
    return bool(before and after) and (after.startswith(before) or before.startswith(after))


def _goes_on(part: str, whole: str) -> bool:
    """Return whether a text may become another one by typing more, wherever."""
    letters = iter(whole)
    return all(letter in letters for letter in part)


def _format_value(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
