"""``field``: the value of a field of the final page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.world import ask_apart
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.comparators import read_comparator
from pytest_browsereval.graders.observing import list_own_frames
from pytest_browsereval.graders.page_checks import CheckForm, PageCheck
from pytest_browsereval.graders.page_values import make_plain
from pytest_browsereval.graders.values import show

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator

    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

_ROLES = (
    *("textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider", "checkbox", "switch", "radio"),
    "radiogroup",
)
MOST_FIELDS = 10

_READ = Path(__file__).with_name("field.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class FieldCheck(PageCheck):
    """The value of a field by its accessible name."""

    async def look(self, window: PlaywrightWindow, seen: dict[str, Any]) -> None:
        """Add the values of the fields of that name."""
        found: list[dict[str, Any]] = []
        for frame in list_own_frames(window.page):
            fields = _find_fields(frame, self.subject)
            count = min(await fields.count(), MOST_FIELDS)
            values = [await ask_apart(fields.nth(place), _READ) for place in range(count)]
            found += [{name: make_plain(part) for name, part in one.items()} for one in values if one]
        seen.setdefault(self.kind, {})[self.subject] = found

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return the value of the field."""
        found = seen.get(self.kind, {}).get(self.subject)
        if found is None:
            raise GraderFault(f"{self.title} was not observed; run the task again")
        found = [one for one in found if one["isVisible"]] or found
        if any(one.get("secret") for one in found):
            raise GraderFault(f"the field {self.subject!r} is for a password, which is not read")
        if not found:
            is_allowed = self.comparator.kind == "exists" and not seen.get("broken")
            return None, "" if is_allowed else f"the page has no field named {self.subject!r}"
        if any(one != found[0] for one in found):
            values = " and ".join(show(one["value"], 80) for one in found[:2])
            several = f"the page has several fields named {self.subject!r}"
            raise GraderFault(f"{several}: {values}. Check one by js")
        value, other = found[0]["value"], found[0].get("other")
        if other is None:
            return value, ""
        # An option may be meant by its label and by its value; `not_equals` has to hold for both.
        fits, other_fits = (not self.comparator.problem(one, "strict") for one in (value, other))
        is_other = fits != other_fits and other_fits == (self.comparator.kind != "not_equals")
        return (other if is_other else value), ""


def _find_fields(frame: Frame, name: str) -> Locator:
    """Return the fields that a label, an accessible name or a placeholder names."""
    found = frame.get_by_label(name, exact=True).or_(frame.get_by_placeholder(name, exact=True))
    for role in _ROLES:
        found = found.or_(frame.get_by_role(role, name=name, exact=True))  # type: ignore[arg-type]
    return found.or_(frame.get_by_role("group", name=name, exact=True))


def _read_field(check: Mapping[str, JsonValue]) -> PageCheck:
    comparator, name = read_comparator(check, others=("field", *FIELD.others)), check["field"]
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"'field' is {show(name)}; write the label or accessible name of a field.")
    return FieldCheck("field", comparator, name)


FIELD = CheckForm(
    "label, accessible name or placeholder of a field",
    "The value of a field of the final page, or of a frame of its origin: a text; `true` or `false` of a "
    "checkbox, a switch or a radio button; label or value of the chosen option, a list where several may be"
    " chosen; the label of the chosen radio button of a named group; the list of the names of chosen files."
    " A password is not read: such a check is errored.",
    ("weight", "not"),
    '[{"field": "Name", "equals": "Ada"}, {"field": "Newsletter", "equals": false}]',
    compares=True,
    read=_read_field,
    schema={"field": {"type": "string", "minLength": 1}},
)
