"""The list of what was recorded: steps, joined as a person would write them, and checks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from pytest_browsereval.features.record.event import StepKind
from pytest_browsereval.features.record.text import describe_check, describe_step
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.spellings import list_spellings

Kind = StepKind | Literal["move", "check"]
"""``move`` is to another page or tab."""

MOST_NOTCHES = 100
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
    about: str = ""
    """The target of the field that a check is about."""

    @property
    def is_check(self) -> bool:
        """Whether it is a check."""
        return self.kind == "check"

    @property
    def text(self) -> str:
        """What the bar shows, without secrets."""
        if self.is_check:
            said = describe_check(self.content, self.about)
            return said[:1].upper() + said[1:]
        return describe_step(self.content, HIDDEN if self.secret else "")

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
        self.files: dict[str, Path] = {}
        """Files that were chosen, by the names that the row has for them."""

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
        before = self._items[-1] if self._items else None
        if before and item.kind in ("hover", "scroll") and _is_same_place(before, item):
            amounts = [one.content.get("amount") for one in (before, item)]
            if all(isinstance(amount, int) for amount in amounts):
                total = min(MOST_NOTCHES, sum(amounts))  # type: ignore[arg-type]
                self._items[-1] = replace(before, content={**before.content, "amount": total})
            return
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

    def name_file(self, path: Path) -> str:
        """Return what the row calls a file that was chosen: its name, with a number if it is another's."""
        names = (f"{path.stem}{f'-{n}' if n > 1 else ''}{path.suffix}" for n in itertools.count(1))
        return next(name for name in names if self.files.setdefault(name, path) == path)

    @property
    def used_files(self) -> dict[str, Path]:
        """The files of the steps that are left, by their names in the row."""
        names = [name for item in self._items for name in list_files(item)]
        return {name: path for name, path in self.files.items() if name in names}

    def remove(self, place: int) -> None:
        """Forget an item, by its place in the list; -1 is the last one."""
        if -len(self._items) <= place < len(self._items):
            self._keep(self._items.pop(place))

    def drop_click(self, key: str) -> bool:
        """Forget the last click on an element; return whether there was one."""
        for place, item in reversed(list(enumerate(self._items))):
            if item.key == key and item.kind in ("click", "double"):
                self.remove(place)
                return True
        return False

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


def hide_leaks(items: Iterable[Item], more: Iterable[str]) -> list[Item]:
    """Return the items; of one that repeats a secret, the tool and a mark in the place of all else.

    Args:
        items: what was recorded.
        more: secrets besides those that the items type.
    """
    items = list(items)
    secrets = [*list_secrets(items), *more]
    return [replace(one, content=_hide(one.content)) if find_leak([one], secrets) else one for one in items]


def _hide(content: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: value if key == "tool" else HIDDEN for key, value in content.items()}


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
        if not is_whole and key not in ("tool", "button", "direction"):
            yield from (
                one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)
            )


def list_files(item: Item) -> list[str]:
    """Return what the row calls the files that were chosen."""
    files = item.content.get("files")
    return [str(name) for name in files] if isinstance(files, list) else []


def _is_joined(last: Item, item: Item) -> bool:
    """Return whether an item takes the place of the last one."""
    if item.key and last.key == item.key and last.kind in _JOINED.get(item.kind, ()):
        return True
    # Some pages make a field anew for each key.
    if not last.kind == item.kind == "fill" or last.content["target"] != item.content["target"]:
        return False
    before, after = str(last.content["text"]), str(item.content["text"])
    return bool(before and after) and (after.startswith(before) or before.startswith(after))


def _is_same_place(last: Item, item: Item) -> bool:
    ways = ("tool", "target", "direction")
    same = last.key == item.key and last.kind == item.kind
    return same and all(last.content.get(key) == item.content.get(key) for key in ways)


def _goes_on(part: str, whole: str) -> bool:
    """Return whether a text may become another one by typing more, wherever."""
    letters = iter(whole)
    return all(letter in letters for letter in part)
