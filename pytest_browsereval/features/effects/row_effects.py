"""The ``effects`` of a row: read, and matched to what has changed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.effects.diff import (
    VALUE,
    Difference,
    describe_difference,
    flatten,
    is_hidden,
    is_other,
    matches,
)
from pytest_browsereval.features.effects.reading import Schema
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.marks import MARK
from pytest_browsereval.sites import SiteConfig

NOTHING = "nothing"
EXAMPLES = {
    "added": '{"added": "orders", "where": {"user": "ada"}, "equals": {"sku": "mug"}}',
    "changed": '{"changed": "stock[sku=mug].left", "by": -2}',
    "removed": '{"removed": "orders", "where": {"id": 7}}',
}
KEYS = (*EXAMPLES, "where", "equals", "by", "count", "site")
MOST_ALIKE = 1_000
"""Rows of one effect."""
MOST_NAMED = 5
"""Side effects that a criterion names."""
_PATH = re.compile(r"([^\[\]]+)(?:\[((?:[^\[\]=,]+=[^\[\],]*(?:,|(?=\])))+)\](?:\.([^\[\]*]+))?)?")


@dataclass(frozen=True)
class Effect:
    """One change that a row asks for."""

    kind: str
    written: str
    """The path as it is written: ``stock[sku=mug].left``."""
    path: str
    """A table or, of a change, ``table``, ``table.column`` or ``column``."""
    column: str
    """Of a change of rows that the path selects; empty if it names none."""
    where: Mapping[str, JsonValue]
    """What the row is: before it was changed or removed, after it was added."""
    selected: Mapping[str, str]
    """The same, as the path has it: values as texts."""
    equals: JsonValue = None
    has_equals: bool = False
    by: int | float | None = None
    site: str = ""

    @property
    def title(self) -> str:
        """What reports call it."""
        return f"{self.kind}: {self.subject}"

    @property
    def subject(self) -> str:
        """What it is about."""
        where = ", ".join(f"{c} {show(v, 60)}" for c, v in self.where.items())
        return f"{self.written} ({where})" if where else self.written

    @property
    def columns(self) -> Mapping[str, JsonValue]:
        """What several columns are to be."""
        return flatten(self.equals) if isinstance(self.equals, dict) and not self.column else {}

    @property
    def compares(self) -> bool:
        """Whether it says what a value is to be."""
        return self.has_equals or self.by is not None

    @property
    def vagueness(self) -> tuple[bool, int]:
        """How little it says: least for one that names most."""
        said = len(self.where) + len(self.selected) + len(self.columns)
        return self.kind == "changed" and not self.compares and not self.column, -said

    def find_columns(self, one: Difference) -> frozenset[str] | None:
        """Return which columns of a difference it is about; all of them are none. None if it is another's."""
        if one.kind != self.kind or self.site not in ("", one.site):
            return None
        if any(_text(_known(one, c)) != text for c, text in self.selected.items()):
            return None
        if any(is_other(_known(one, c), value) for c, value in self.where.items()):
            return None
        if self.kind != "changed":
            return frozenset() if one.table == self.path else None
        changed = frozenset(one.columns)
        if one.table == self.path:
            named = {self.column} if self.column else {*self.columns} or {*changed}
        else:
            named = {c for c in changed if self.path == (f"{one.table}.{c}" if one.table else c)}
        return changed & named or None

    def find_problem(self, one: Difference, columns: Collection[str], *, with_values: bool) -> str:
        """Return why a difference that it is about is not as it is to be; empty if it is.

        Raises:
            Fault: a value was not written, so that nobody knows.
        """
        if self.by is not None:
            column = next(iter(columns))
            old, new = (_known(one, column, row) or 0 for row in (one.before, one.after))
            if len(columns) > 1 or not isinstance(old, int | float) or not isinstance(new, int | float):
                return f"{one.table}: {', '.join(sorted(columns))} is not one number"
            moved = round(new - old, 9)
            said = f"{moved:g}" if with_values else "a different amount"
            return "" if moved == self.by else f"{column} was changed by {said}, not by {self.by:g}"
        expected = (self.columns or dict.fromkeys(columns, self.equals)) if self.has_equals else {}
        wrong = {c: v for c, v in expected.items() if is_other(_known(one, c, one.after), v)}
        found = {c: f"{show(one.after.get(c), 60)}, " if with_values else "" for c in wrong}
        return ", ".join(f"{c} is {found[c]}not {show(v, 60)}" for c, v in wrong.items())


def _known(one: Difference, column: str, row: Mapping[str, JsonValue] | None = None) -> JsonValue:
    value = (one.row if row is None else row).get(column)
    if value is not None and MARK in json.dumps(value, ensure_ascii=False):
        place = f"{one.table}.{column}"
        raise GraderFault(f"an effect compares {place}, which is never stored (a secret, or `hide`)")
    return value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else show(value)


# -- read


def read_effects(given: Any) -> list[Effect]:
    """Return the effects of a row.

    Raises:
        ValueError: they are not well formed; the message says what to write.
    """
    blocks = () if given == NOTHING else given
    return [effect for block in blocks for effect in [_read_effect(block)] * block.get("count", 1)]


def _read_effect(block: Mapping[str, Any]) -> Effect:
    for key in block:
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise ValueError(f"an effect has the unknown key {key!r}.{nearest(key, KEYS)} Known: {known}.")
    kind = next((kind for kind in EXAMPLES if kind in block), "added")
    found = _PATH.fullmatch(str(block.get(kind) or "").strip())
    problem = "its path cannot be read" if found is None else _find_misuse(block, kind, found)
    if found is None or problem:
        raise ValueError(f"the effect {show(dict(block))}: {problem}. Write one such as {EXAMPLES[kind]}.")
    pairs = (pair.partition("=") for pair in (found[2] or "").split(",") if pair)
    selected = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
    equals = block.get("equals")
    return Effect(
        kind,
        found[0],
        found[1],
        found[3] or "",
        flatten(_as_columns(block.get("where", {}))),
        selected,
        _as_columns(equals) if kind == "added" and "equals" in block else equals,
        "equals" in block,
        block.get("by"),
        block.get("site", ""),
    )


def _as_columns(given: Any) -> Any:
    """Return what a row is, by column: an entry of a list of texts or numbers has one."""
    return given if isinstance(given, dict) else {VALUE: given}


def _find_misuse(block: Mapping[str, Any], kind: str, path: re.Match[str]) -> str:
    """Return which key of an effect says what it cannot; empty if none does."""
    by, count, is_change = block.get("by", 1), block.get("count", 1), kind == "changed"
    rows = [block[key] for key in (("where",) if is_change else ("where", "equals")) if key in block]
    is_number = isinstance(by, int | float) and not isinstance(by, bool) and by != 0  # 0 is no change
    is_of_column = is_change and "equals" not in block and (path[3] or not path[2])
    misuses = {
        "it has to name one table under added, changed or removed": (
            not isinstance(block.get(kind), str) or len({*block} & {*EXAMPLES}) != 1
        ),
        "`where` and `equals` must each be an object of columns, or an entry of a list of strings": (
            any(isinstance(one, type(None) | list) for one in rows)
        ),
        f"`count` is {show(count)}, and has to be a whole number from 1 to {MOST_ALIKE:,}": (
            type(count) is not int or not 1 <= count <= MOST_ALIKE
        ),
        "its path names a column, and whole rows are added or removed": path[3] and not is_change,
        f"`by` is {show(by)}, and has to be the number by which one column was changed, without `equals`": (
            "by" in block and not (is_number and is_of_column)
        ),
        "what was removed has no `equals`; `where` says which row it was": (
            "equals" in block and kind == "removed"
        ),
        "`site` has to be the name of a site": not isinstance(block.get("site", ""), str),
    }
    return next((said for said, is_so in misuses.items() if is_so), "")


def find_blind(effect: Effect, states: Sequence[tuple[SiteConfig, Schema | None]]) -> str:
    """Return why an effect is seen in no state, with the nearest name; empty if it is or may be.

    Args:
        effect: of a row.
        states: of the sites that it may be about: each with tables and columns as far as they are known.
    """
    problems = [_find_unseen(effect, site) or _find_missing(effect, known) for site, known in states]
    return problems[0] if all(problems) else ""


def _find_unseen(effect: Effect, site: SiteConfig) -> str:
    said = [*effect.columns, *filter(None, [effect.column])]
    table, _, column = effect.path.rpartition(".")
    own = [(table, column)] if effect.kind == "changed" else []
    named = [(effect.path, one) for one in (*effect.where, *effect.selected)]
    compared = [*((effect.path, one) for one in said), *own]
    for place in (*named, *(compared if effect.compares else ())):
        if is_hidden(site.hide, *place):
            name = ".".join(filter(None, place))
            why = "it is in `hide`, or its name is that of a secret"
            return f"an effect compares {name}, whose values are never stored: {why}. Compare another column."
    if any(matches(site.volatile, *place) for place in (*named, *compared, (effect.path, "\0"))):
        left_out = ", ".join(site.volatile)
        return f"the effect {effect.title!r} is about what `volatile` of its site leaves out: {left_out}."
    return ""


def _find_missing(effect: Effect, known: Schema | None) -> str:
    """Return which table or column of an effect a database does not have."""
    if known is None:
        return ""
    path, columns = effect.path, [*effect.where, *effect.selected, *effect.columns, effect.column]
    above = [one for one in known if effect.kind == "changed" and path.startswith(f"{one}.")]
    table = path if path in known else max(above, key=len, default="")
    if not table:
        hint = nearest(path, known) or nearest(path.rpartition(".")[0], known)
        tables = ", ".join(known) or "none"
        return f"an effect names {path!r}, and the state has no such table.{hint} Tables: {tables}."
    columns.append(path.removeprefix(table)[1:])
    there = known[table]
    if there is None:
        return ""
    missing = next((one for one in columns if one and one not in there), "")
    said = f"an effect names the column {missing!r}, which {table!r} does not have."
    return f"{said}{nearest(missing, there)} Columns: {', '.join(there)}." if missing else ""


# -- matched


def match_effects(
    effects: Sequence[Effect], differences: Sequence[Difference], *, with_values: bool = False
) -> tuple[tuple[Criterion, ...], list[Difference]]:
    """Return a criterion for each effect, and the side effects: what else has changed.

    An effect takes one difference that is as it says, or else one that ``where`` finds, which fails it.

    Args:
        effects: of the row.
        differences: of all its sites.
        with_values: whether criteria name values that the state has.

    Raises:
        Fault: source *grader*: a value that is compared was not written.
    """
    matching = _Matching(effects, differences, with_values)
    # Those that say more choose first; what takes any change has the columns that are left.
    order = sorted(range(len(effects)), key=lambda number: effects[number].vagueness)
    for number in order:
        matching.take(number, set())
    for number in (one for one in order if one not in matching.taken):
        matching.take_near(number)
    left = [one for _, one in matching.list_free()]
    names = {name for one in left for name in (one.table, *(f"{one.table}.{c}" for c in one.columns))}
    problems = [matching.taken[n][2] if n in matching.taken else None for n in range(len(effects))]
    return tuple(_judge(*pair, names) for pair in zip(effects, problems, strict=True)), left


class _Matching:
    """Which effects are about which columns of which differences."""

    def __init__(
        self,
        effects: Sequence[Effect],
        differences: Sequence[Difference],
        with_values: bool,  # noqa: FBT001
    ) -> None:
        self._effects, self._differences, self._with_values = effects, differences, with_values
        self.taken: dict[int, tuple[int, frozenset[str], str]] = {}
        """By effect: the place of the difference, its columns, and why it is not as it is to be."""
        self._held: dict[int, set[int]] = {place: set() for place in range(len(differences))}
        found = {id(one): [self._find(one, each) for each in differences] for one in effects}
        right = {
            own: {n: one for n, one in enumerate(row) if one and not one[1]} for own, row in found.items()
        }
        self._right = [right[id(one)] for one in effects]

    def _find(self, effect: Effect, one: Difference) -> tuple[frozenset[str], str] | None:
        columns = effect.find_columns(one)
        if columns is None:
            return None
        return columns, effect.find_problem(one, columns, with_values=self._with_values)

    def take(self, number: int, tried: set[int]) -> bool:
        """Take a right difference, if need be from an effect that finds another: effects may overlap."""
        free_first = sorted(self._right[number].items(), key=lambda one: bool(self._held[one[0]]))
        for place, found in free_first:
            if place in tried:
                continue
            tried.add(place)
            holders = [one for one in self._held[place] if not found[0] or self.taken[one][1] & found[0]]
            if not holders or (len(holders) == 1 and self.take(holders[0], tried)):
                self._put(number, place, found)
                return True
        return False

    def take_near(self, number: int) -> None:
        """Take a free difference that ``where`` finds, which fails the effect."""
        for place, one in self.list_free():
            if found := self._find(self._effects[number], one):
                self._put(number, place, found)
                return

    def _put(self, number: int, place: int, found: tuple[frozenset[str], str]) -> None:
        if number in self.taken:
            self._held[self.taken[number][0]].remove(number)
        self.taken[number] = (place, *found)
        self._held[place].add(number)

    def list_free(self) -> Iterator[tuple[int, Difference]]:
        """Yield what no effect is about, with its place."""
        for place, one in enumerate(self._differences):
            gone = {column for number in self._held[place] for column in self.taken[number][1]}
            free = tuple(column for column in one.columns if column not in gone)
            if free or not self._held[place]:
                yield place, replace(one, columns=free)


def _judge(effect: Effect, problem: str | None, changed: Collection[str]) -> Criterion:
    if problem is None:
        name = f"{effect.path}.{effect.column}" if effect.column else effect.path
        # A state without a schema has every name, also a misspelt one.
        hint = "" if name in changed else nearest(name, changed)
        problem = f"nothing of {effect.subject} was {effect.kind}{hint and '.'}{hint}"
    expected = effect.equals if effect.has_equals else effect.by
    return make_criterion(effect.title, problem, expected=expected)


def judge_others(side_effects: Sequence[Difference], *, with_values: bool = False) -> Criterion:
    """Return the criterion that nothing else has changed, which names five side effects."""
    words = [describe_difference(one, with_values=with_values) for one in side_effects]
    return make_criterion("nothing else changed", join_first(words, MOST_NAMED, "; "))
