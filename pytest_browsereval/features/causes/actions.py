"""What an attempt did, step by step: kind of action, target, value, page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_browsereval.features.causes.pages import PageNames
from pytest_browsereval.features.causes.targets import Target, read_refs, read_target
from pytest_browsereval.model.display import one_line
from pytest_browsereval.redaction.marks import MARK, WITHHELD
from pytest_browsereval.runs.turns import StoredStep

ROUNDS = 3
"""How many times actions or pages have to come one after the other to be a repetition."""

LONGEST_CYCLE = 4

SETS = frozenset({"type", "choose", "check", "dialog"})
"""Kinds that give a target a value: a later one stands in for an earlier one."""

SOFT = frozenset({"hover", "scroll", "tabs"})
"""Kinds that a solution may need, and that do no harm where it does not."""

HARMLESS = frozenset({"look", "wait", "back", "end"})
"""Kinds that are no part of the way: looking, waiting, history."""

FIELDS = frozenset({"textbox", "searchbox", "combobox", "spinbutton"})
"""Roles of what is clicked before something is typed there."""

NO_RESULT = "no result is recorded"
"""The error of a call that the attempt did not see the end of."""

UNREAD = "unread"
"""The kind of a model's reply that was no call."""

_VALUES = (
    *("text", "value", "values", "key", "keys", "url", "answer", "reason", "script", "accept", "direction"),
    *("address", "tab_id"),
)
"""Arguments that hold a value in tools that do not say which one does; the first that is given counts."""

_KINDS = {
    "click": "click tap dblclick double right activate follow submit",
    "type": "fill type input enter write upload set",
    "choose": "select choose pick option",
    "check": "check uncheck toggle",
    "press": "press key keys keypress hotkey",
    "open": "navigate goto visit load open url",
    "back": "back forward reload refresh",
    "dialog": "handle dialog accept dismiss alert",
    "drag": "drag drop",
    "hover": "hover move point",
    "scroll": "scroll swipe wheel",
    "wait": "wait sleep pause",
    "look": "snapshot read get list screenshot take extract find look observe see view show inspect think",
    "end": "done finish give answer terminate stop fail infeasible report",
}
_OF_WORD = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_OF_TOOL = {
    "go_back": "back", "go_forward": "back", "open_tab": "open", "select_tab": "tabs", "close_tab": "tabs"
}  # fmt: skip
_PREFIXES = frozenset({"browser", "page", "mcp", "playwright", "web", "computer", "mouse", "element", "go"})
_GIVES_UP = frozenset({"give_up", "fail", "failed", "failure", "infeasible", "report_infeasible", "false"})
"""Tools and values that end an attempt which did not get there, as ``done(success=False)`` does."""
_SUCCEEDS = frozenset({"true", "success", "done", "completed"})
"""Values that say of the end of an attempt that it got there."""
UNDOES = re.compile(
    r"\b(remove|delete|give back|take back|revert|withdraw|clear|cancel|undo|reset|discard|empty|log ?out"
    r"|sign ?out|unsubscribe|reopen|unfollow|unassign|deselect"
    r"|entfernen|löschen|abbrechen|abmelden|supprimer|annuler|eliminar|borrar|cancelar)\b",
    re.IGNORECASE,
)
"""Names of what takes back what was done."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def find_kind(tool: str, params: Mapping[str, Any]) -> str:
    """Return which kind of action a tool is, by its name; ``other`` if that does not tell."""
    names = (tool, *(params[key] for key in ("action", "type") if isinstance(params.get(key), str)))
    is_address = any(str(one).startswith(("http://", "https://")) for one in params.values())
    return next(filter(None, map(_kind_of, names)), "open" if is_address else "other")


@lru_cache(maxsize=4096)
def _kind_of(name: str) -> str | None:
    if name in _OF_TOOL:
        return _OF_TOOL[name]
    words = (word.lower() for word in _WORDS.findall(name[:200]))
    first = next((word for word in words if word in _OF_WORD or word not in _PREFIXES), "")
    return _OF_WORD.get(first)


@dataclass(frozen=True)
class Action:
    """A step, or a step of a solution, as it is compared."""

    number: int
    """Of the step, from 1; in a solution the place in it."""
    tool: str
    kind: str
    target: Target | None
    value: str
    before: str | None
    """The page before; None if unknown."""
    page: str | None
    """The page after."""
    error: str = ""
    """Why it failed; empty if it did not, or if nobody knows."""
    succeeds: bool | None = None
    """Whether it ends the attempt as done or gives up; None if it does neither, or says it in words only."""
    says: str = ""
    """Its result."""
    status: int | None = None
    """The HTTP status of the page after it, from 400; None if it is another one, or not known."""
    holds: str = ""
    """The argument that the value stands in, if the tool has said so."""

    @property
    def has_moved(self) -> bool:
        """Whether another page was there after it."""
        return self.page is not None and self.before is not None and self.page != self.before

    @property
    def is_open(self) -> bool:
        """Whether the value may be anything: a variable, or what was redacted."""
        return self.value.startswith("${") or MARK in self.value or WITHHELD in self.value

    @property
    def key(self) -> tuple[object, ...]:
        """What two actions share that are the same action with the same outcome."""
        return self.tool, self.target, self.value, self.page, self.error

    def describe(self, *, with_value: bool = True) -> str:
        """Return it in words: ``clicks 'Blue cup'``, ``types '5' into 'Amount'``.

        Args:
            with_value: whether what was typed, chosen or answered may be said.
        """
        verb = _name_verb(self)
        if self.kind == "open":
            # What failed has left the page as it was, or at the browser's own page.
            place = self.value if self.error and self.value else self.page or self.value
            is_led = with_value and self.value not in ("", place)
            led = f", which led to {one_line(place, 80)}" if is_led else ""
            return f"{verb} {one_line(self.value if led else place, 80)}{led}".strip()
        target = self.target.describe() if self.target else ""
        is_said = self.kind in (*_BETWEEN, "end") and with_value and self.value and not self.is_open
        value = repr(one_line(self.value, 60)) if is_said else ""
        between = _BETWEEN.get(self.kind, "") if target and (value or self.kind == "type") else ""
        return " ".join(filter(None, (verb, value, between, target)))

    def describe_outcome(self, *, with_value: bool = True) -> str:
        """Return it in words, with the error that came of it."""
        words = self.describe(with_value=with_value)
        if not self.error or self.kind == UNREAD:
            return words
        failed = "" if self.error == NO_RESULT else ", which failed"
        return f"{words}{failed} ({one_line(self.error, 100).rstrip('.')})"


_VERBS = {
    "press": "presses", "hover": "points at", "back": "goes back", "end": "answers",
    UNREAD: "replies with something that is not a call", "reload": "reloads the page",
    "go_forward": "goes forward",
}  # fmt: skip
"""Of kinds that do not get an ``s``, and of tools."""
_BETWEEN = {"type": "into", "choose": "in", "press": "in"}
"""What stands between a value and a target."""


def _name_verb(one: Action) -> str:
    if one.kind in ("other", "tabs") or (one.kind == "end" and not one.value):
        return f"calls {one_line(one.tool, 40)}"
    if one.kind == "dialog":
        return "dismisses the dialog" if one.value.startswith("False") else "accepts the dialog"
    if one.kind == "check" and one.value == "off":
        return "unchecks"
    if one.kind == "look" and one.target is not None:
        return "reads" if one.tool.startswith("read") else "looks at"
    return _VERBS.get(one.tool, _VERBS.get(one.kind, f"{one.kind}s"))


def _find_success(tool: str, params: Mapping[str, Any]) -> bool | None:
    """Return what a call that ends an attempt says of it, by its name or by a value that is no sentence."""
    said = {str(params[key]).lower() for key in ("success", "status", "action", "type") if key in params}
    if not _GIVES_UP.isdisjoint({tool, *said}):
        return False
    return None if _SUCCEEDS.isdisjoint(said) else True


def _value_of(kind: str, params: Mapping[str, Any], tool: str, holds: str) -> str:
    if kind == "check":
        return "off" if "uncheck" in tool else "on"
    if kind == "dialog":
        return f"{params.get('accept', True)} {params.get('text') or ''}".strip()
    if kind == "click":  # which button, how often, with which keys, how long
        known = [params.get(key) for key in ("button", "click_count", "modifiers", "hold_ms")]
        return " ".join(_say_value(one) for one in known if one not in (None, [], "left", 1, 0))
    names = (name for name in (holds, *_VALUES) if params.get(name) not in (None, "", []))
    return _say_value(params.get(next(names, "")))


def _say_value(given: Any) -> str:
    """Return a value as it is compared and read; several as a list of them."""
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return ", ".join(given)
    return "" if given is None else str(given)


def read_actions(steps: Iterable[StoredStep], pages: PageNames, start: str | None) -> Iterator[Action]:
    """Yield the actions of an attempt.

    Args:
        steps: as they are recorded.
        pages: names pages.
        start: the address of the start page.
    """
    refs: dict[str, Target] = {}
    focus: Target | None = None
    page = pages.name(start) if start else None
    for step in steps:
        call, result, output = step.call, step.result, step.output
        # A reply of a model that was no call: it names a tool, and nothing was done.
        is_unread = call.params.keys() == {"malformed"}
        kind = UNREAD if is_unread else find_kind(call.tool, call.params)
        value = _value_of(kind, call.params, call.tool, call.holds_value or "")
        value = pages.name(value) if kind == "open" else value
        # A program may not tell where it is.
        guessed = value if kind == "open" and value else page if kind in HARMLESS else None
        after = pages.name(result.url) if result is not None and result.url else guessed
        target = read_target(call.params, refs, result.hit if result is not None else None)
        if kind == "type" and target is None:  # where a click has put the caret
            target = focus
        focus = target if target is not None and target.role in FIELDS else None
        failed = result is None or result.is_error
        yield Action(
            number=step.number,
            tool=call.tool,
            kind=kind,
            target=target,
            value=value,
            before=page,
            page=after,
            error=(output.partition("\n")[0] or NO_RESULT) if failed else "",
            succeeds=_find_success(call.tool, call.params) if kind == "end" else None,
            says=output,
            status=result.status if result is not None else None,
            holds=call.holds_value or "",
        )
        refs = read_refs(output) or refs
        page = after


def read_solution(
    solution: Iterable[Mapping[str, Any]], pages: PageNames, holds: Mapping[str, str]
) -> Iterator[Action]:
    """Yield the actions of a row's solution; of pages only those are known that it opens by address.

    Args:
        solution: as the row has it.
        pages: names pages.
        holds: by the name of a tool, the argument that its value stands in, as far as tools have said so.
    """
    for number, given in enumerate(solution, 1):
        params = {key: value for key, value in given.items() if key != "tool"}
        tool = str(given.get("tool", ""))
        kind = find_kind(tool, params)
        value = _value_of(kind, params, tool, holds.get(tool, ""))
        value = pages.name(value) if kind == "open" else value
        page = value if kind == "open" else None
        yield Action(number, tool, kind, read_target(params, {}), value, None, page)


def list_moves(actions: Iterable[Action]) -> list[Action]:
    """Return the actions that are aligned: without looks, waits, history; of waits those that failed."""
    return [one for one in actions if one.kind not in HARMLESS or (one.kind == "wait" and one.error)]


def find_cycle(keys: Sequence[object], least: int) -> range | None:
    """Return where a cycle stands that comes three times or more, one after the other, at the end."""
    for size in range(least, LONGEST_CYCLE + 1):
        cycle = list(keys[-size:])
        if len(keys) < size * ROUNDS or (size > 1 and len(set(cycle)) == 1):
            continue
        start = len(keys)
        while start >= size and list(keys[start - size : start]) == cycle:
            start -= size
        if len(keys) - start >= size * ROUNDS:
            return range(start, len(keys))
    return None
