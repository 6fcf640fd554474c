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
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.marks import MARK

NOTHING = "nothing"
KINDS = ("added", "changed", "removed")
_KEYS = (*KINDS, "where", "equals", "by", "count", "site")
_PATH = re.compile(r"([^\[\]]+)\[([^\[\]]*)\](?:\.([^\[\]]+))?")
_EXAMPLES = {
    "added": '{"added": "orders", "where": {"user": "ada"}, "equals": {"sku": "mug"}}',
    "changed": '{"changed": "stock[sku=mug].left", "by": -2}',
    "removed": '{"removed": "orders", "where": {"id": 7}}',
}


@dataclass(frozen=True)
class Effect:
    """One change that a row asks for."""

    kind: str
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
    count: int = 1
    site: str = ""

    @property
    def title(self) -> str:
        """What reports call it."""
        where = ", ".join(f"{c} {show(v, 60)}" for c, v in self.where.items())
        times = f"{self.count} times " if self.count > 1 else ""
        column = f".{self.column}" if self.column else ""
        chosen = ",".join(f"{c}={v}" for c, v in self.selected.items())
        path = f"{self.path}[{chosen}]{column}" if chosen else f"{self.path}{column}"
        return f"{times}{self.kind}: {path}" + (f" ({where})" if where else "")

    @property
    def columns(self) -> Mapping[str, JsonValue]:
        """What several columns are to be."""
        return flatten(self.equals) if isinstance(self.equals, dict) and not self.column else {}

    def list_columns(self) -> list[str]:
        """Return the columns that it names apart from its path."""
        return [*self.where, *self.selected, *self.columns, *filter(None, [self.column])]

    @property
    def vagueness(self) -> tuple[bool, int]:
        """How little it says: least for one that names most."""
        says_what = self.has_equals or self.by is not None or self.column
        said = len(self.where) + len(self.selected) + len(self.columns)
        return self.kind == "changed" and not says_what, -said

    def find_columns(self, one: Difference) -> set[str] | None:
        """Return which columns of a difference it is about; all of them are none. None if it is another's."""
        if one.kind != self.kind or (self.site and one.site != self.site):
            return None
        for column, value in self.selected.items():
            if _text(_known(one, column)) != value:
                return None
        if any(is_other(_known(one, column), value) for column, value in self.where.items()):
            return None
        if self.kind != "changed":
            return set() if one.table == self.path else None
        if one.table == self.path:
            named = {self.column} if self.column else {*self.columns} or {*one.columns}
            return named & {*one.columns} or None
        named = {c for c in one.columns if self.path == (f"{one.table}.{c}" if one.table else c)}
        return named or None

    def find_problem(self, one: Difference, columns: set[str], *, with_values: bool) -> str:
        """Return why a difference that it is about is not as it is to be; empty if it is.

        Raises:
            Fault: a value was not written, so that nobody knows.
        """
        if self.by is not None:
            (column,) = columns if len(columns) == 1 else ("",)
            old, new = one.before.get(column) or 0, one.after.get(column) or 0
            if MARK in (old, new):
                raise _report_unwritten(one.table, column)
            if not isinstance(old, int | float) or not isinstance(new, int | float):
                return f"{column or one.table} is not a number"
            moved = round(new - old, 9)
            said = f"{column} was changed by {moved:g}" if with_values else f"{column} was changed otherwise"
            return "" if moved == self.by else f"{said}, not by {self.by:g}"
        if not self.has_equals:
            return ""
        expected = self.columns or dict.fromkeys(columns, self.equals)
        wrong = [c for c, v in expected.items() if is_other(_known(one, c, is_after=True), v)]
        found = {c: f"{show(one.after.get(c), 60)}, " if with_values else "" for c in wrong}
        shown = [f"{c} is {found[c]}not {show(expected[c], 60)}" for c in wrong]
        return ", ".join(shown)


def read_effects(given: Any) -> list[Effect]:
    """Return the effects of a row.

    Raises:
        ValueError: they are not well formed; the message says what to write.
    """
    return [] if given == NOTHING else [_read_effect(block) for block in given]


def _read_effect(block: Mapping[str, Any]) -> Effect:
    kinds = [kind for kind in KINDS if kind in block]
    for key in block:
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise ValueError(f"an effect has the unknown key {key!r}.{nearest(key, _KEYS)} Known: {known}.")
    if len(kinds) != 1 or not isinstance(block[kinds[0]], str) or not block[kinds[0]].strip():
        raise ValueError(
            f"the effect {show(dict(block))} has to name one table under added, changed or removed, such as "
            f"{_EXAMPLES['added']}."
        )
    kind, path, column, selected = kinds[0], block[kinds[0]].strip(), "", {}
    example = f"Write one such as {_EXAMPLES[kind]}."
    if "[" in path:
        found = _PATH.fullmatch(path)
        pairs = [one.partition("=") for one in found[2].split(",")] if found else []
        if found is None or not all(name.strip() and sign for name, sign, _ in pairs):
            raise ValueError(f"the path {path!r} of an effect cannot be read. {example}")
        selected = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
        path, column = found[1], found[3] or ""
    if problem := _find_misuse(block, kind, column, is_selected=bool(selected)):
        raise ValueError(f"the effect {show(dict(block))}: {problem}. {example}")
    by, count, where = block.get("by"), block.get("count", 1), flatten(_as_columns(block.get("where", {})))
    equals, has_equals = block.get("equals"), "equals" in block
    if kind == "added" and has_equals:
        equals = _as_columns(equals)
    return Effect(kind, path, column, where, selected, equals, has_equals, by, count, block.get("site", ""))


def _as_columns(given: Any) -> Any:
    """Return what a row is, by column: an entry of a list of texts or numbers has one."""
    return given if isinstance(given, dict) else {VALUE: given}


def _find_misuse(block: Mapping[str, Any], kind: str, column: str, *, is_selected: bool) -> str:
    """Return which key of an effect says what it cannot; empty if none does."""
    count, by = block.get("count", 1), block.get("by", 1)
    is_number = isinstance(by, int | float) and not isinstance(by, bool) and by != 0  # 0 is no change
    is_of_column = kind == "changed" and "equals" not in block and (column or not is_selected)
    for key in ("where", "equals") if kind == "added" else ("where",):
        if isinstance(block.get(key, {}), type(None) | list):
            said = f"`{key}` is {show(block[key])}, and has to be an object of columns"
            return f"{said}, or an entry of a list of texts"
    misuses = {
        f"`count` is {show(count)}, and has to be a whole number from 1": (
            not isinstance(count, int) or isinstance(count, bool) or count < 1
        ),
        f"the path {block[kind]!r} names a column, and whole rows are {kind}": column and kind != "changed",
        f"`*` names no column; {block[kind]!r} without it means any change of the row": column == "*",
        f"`by` is {show(by)}, and has to be the number by which one column was changed, without `equals`": (
            "by" in block and not (is_number and is_of_column)
        ),
        "what was removed has no `equals`; `where` says which row it was": (
            "equals" in block and kind == "removed"
        ),
        "`site` has to be the name of a site": not isinstance(block.get("site", ""), str),
    }
    return next((said for said, is_so in misuses.items() if is_so), "")


def list_unwritten(effect: Effect, hide: Sequence[str]) -> Iterator[str]:
    """Yield the columns that an effect compares and whose values are never written."""
    compares = effect.has_equals or effect.by is not None
    compared = (one for one in effect.list_columns() if compares or one != effect.column)
    places = [(effect.path, column) for column in compared]
    if compares:
        table, _, column = effect.path.rpartition(".")
        places.append((table, column))
    for table, column in places:
        if is_hidden(hide, table, column):
            yield f"{table}.{column}" if table else column


def find_unseen(effect: Effect, states: Sequence[tuple[Sequence[str], Schema | None]]) -> str:
    """Return why an effect is seen in no state, with the nearest name; empty if it is or may be.

    Args:
        effect: of a row.
        states: of the sites that it may be about: what is volatile there, and tables with their columns, as
            far as they are known.
    """
    problems = [
        _find_volatile(effect, volatile) or _find_missing(effect, known) for volatile, known in states
    ]
    return problems[0] if all(problems) else ""


def _find_volatile(effect: Effect, volatile: Sequence[str]) -> str:
    places = [(effect.path, column) for column in (*effect.list_columns(), "\0")]
    places += [("", effect.path)] if effect.kind == "changed" else []
    if not any(matches(volatile, *place) for place in places):
        return ""
    left_out = ", ".join(volatile)
    return f"the effect {effect.title!r} is about what `volatile` of its site leaves out: {left_out}."


def _find_missing(effect: Effect, known: Schema | None) -> str:
    if known is None:
        return ""
    columns, path = effect.list_columns(), effect.path
    above = [one for one in known if effect.kind == "changed" and path.startswith(f"{one}.")]
    table = path if path in known else max(above, key=len, default="")
    if not table:
        hint = nearest(path, known) or nearest(path.rpartition(".")[0], known)
        tables = ", ".join(known) or "none"
        return f"an effect names {path!r}, and the state has no such table.{hint} Tables: {tables}."
    if table != path:
        columns.append(path.removeprefix(f"{table}."))
    there = known[table]
    missing = [one for one in columns if there is not None and one not in there]
    if there is None or not missing:
        return ""
    return (
        f"an effect names the column {missing[0]!r}, which {table!r} does not have."
        f"{nearest(missing[0], there)} Columns: {', '.join(there)}."
    )


def match_effects(
    effects: Sequence[Effect], differences: Sequence[Difference], *, with_values: bool = False
) -> tuple[tuple[Criterion, ...], list[Difference]]:
    """Return a criterion for each effect, and the side effects: what else has changed.

    An effect takes as many differences as its ``count``: first those that are as it says, then others that
    ``where`` finds, which fail it.

    Args:
        effects: of the row.
        differences: of all its sites.
        with_values: whether criteria name values that the state has.

    Raises:
        Fault: source *grader*: a value that is compared was not written.
    """
    matching = _Matching(effects, differences, with_values=with_values)
    # Those that say more choose first; what takes any change has the columns that are left.
    order = sorted(range(len(effects)), key=lambda number: effects[number].vagueness)
    for number in order:
        for unit in range(effects[number].count):
            if not matching.take((number, unit), set()):
                break
    matching.take_near(order)
    left = matching.list_left()
    changed = {name for one in left for name in (one.table, *(f"{one.table}.{c}" for c in one.columns))}
    criteria = (_judge(*pair, changed) for pair in zip(effects, matching.list_problems(), strict=True))
    return tuple(criteria), left


_Unit = tuple[int, int]
"""An effect's number, and which of its ``count``."""


class _Matching:
    """Which effects are about which columns of which differences.

    What is taken already is given up where its effect finds another one: effects may overlap, and a right
    attempt must not fail by their order.
    """

    def __init__(
        self, effects: Sequence[Effect], differences: Sequence[Difference], *, with_values: bool
    ) -> None:
        self._effects, self._differences, self._with_values = effects, differences, with_values
        self._taken: dict[_Unit, tuple[int, frozenset[str], str]] = {}
        """By unit: the place of the difference, its columns, and why it is not as it is to be."""
        self._owners: dict[int, list[_Unit]] = {}
        self._found: dict[tuple[int, int], tuple[frozenset[str], str] | None] = {}
        """By effect and place, where nothing of the difference is taken."""

    def take(self, unit: _Unit, tried: set[int]) -> bool:
        """Return whether a difference that is as the effect says was found, if need be by moving others."""
        for place in range(len(self._differences)):
            if place in tried or (found := self._find_whole(unit[0], place)) is None or found[1]:
                continue
            tried.add(place)
            holders = [one for one in self._owners.get(place, ()) if self._is_in_way(one, found[0])]
            if not holders or (len(holders) == 1 and self.take(holders[0], tried)):
                self._put(unit, place, *found)
                return True
        return False

    def take_near(self, order: Sequence[int]) -> None:
        """Give effects that lack a difference one that ``where`` finds, which fails them."""
        for number in order:
            for unit in ((number, n) for n in range(self._effects[number].count)):
                if unit not in self._taken and not self._put_near(unit):
                    break

    def _put_near(self, unit: _Unit) -> bool:
        for place, columns in self._list_free():
            one = replace(self._differences[place], columns=tuple(columns))
            if found := self._find(unit[0], one):
                self._put(unit, place, *found)
                return True
        return False

    def _find_whole(self, number: int, place: int) -> tuple[frozenset[str], str] | None:
        if (number, place) not in self._found:
            self._found[number, place] = self._find(number, self._differences[place])
        return self._found[number, place]

    def _find(self, number: int, one: Difference) -> tuple[frozenset[str], str] | None:
        columns = self._effects[number].find_columns(one)
        if columns is None:
            return None
        problem = self._effects[number].find_problem(one, columns, with_values=self._with_values)
        return frozenset(columns), problem

    def _is_in_way(self, unit: _Unit, columns: frozenset[str]) -> bool:
        return not columns or bool(self._taken[unit][1] & columns)

    def _put(self, unit: _Unit, place: int, columns: frozenset[str], problem: str) -> None:
        if unit in self._taken:
            self._owners[self._taken[unit][0]].remove(unit)
        self._taken[unit] = place, columns, problem
        self._owners.setdefault(place, []).append(unit)

    def _list_free(self) -> Iterator[tuple[int, list[str]]]:
        for place, one in enumerate(self._differences):
            owners = self._owners.get(place, [])
            gone = {column for unit in owners for column in self._taken[unit][1]}
            free = [column for column in one.columns if column not in gone]
            if free or not owners:
                yield place, free

    def list_left(self) -> list[Difference]:
        """Return what no effect is about."""
        return [replace(self._differences[place], columns=tuple(free)) for place, free in self._list_free()]

    def list_problems(self) -> list[list[str]]:
        """Return, for each effect, why its differences are not as they are to be."""
        found: list[list[str]] = [[] for _ in self._effects]
        for (number, _), (_, _, problem) in sorted(self._taken.items()):
            found[number].append(problem)
        return found


def _judge(effect: Effect, problems: Sequence[str], changed: Collection[str]) -> Criterion:
    right = problems.count("")
    wrong = [problem for problem in problems if problem]
    if len(problems) < effect.count:
        found = f"{len(problems)} of {effect.count}" if problems else "nothing"
        subject = effect.title.partition(f"{effect.kind}: ")[2]
        name = f"{effect.path}.{effect.column}" if effect.column else effect.path
        # A state without a schema has every name, also a misspelt one.
        hint = "" if problems or name in changed else nearest(name, changed)
        wrong.append(f"{found} of {subject} was {effect.kind}{hint and '.'}{hint}")
    expected = effect.equals if effect.has_equals else effect.by if effect.by is not None else effect.count
    return make_criterion(effect.title, "; ".join(wrong), expected=expected, actual=None if wrong else right)


def judge_others(
    side_effects: Sequence[Difference], *, with_values: bool = False, most: int = 5
) -> Criterion:
    """Return the criterion that nothing else has changed, which names five side effects."""
    words = [describe_difference(one, with_values=with_values) for one in side_effects]
    more = [f"and {len(words) - most} more"] if len(words) > most else []
    return make_criterion("nothing else changed", "; ".join([*words[:most], *more]))


def _known(one: Difference, column: str, *, is_after: bool = False) -> JsonValue:
    value = (one.after if is_after else one.row).get(column)
    if value is not None and MARK in json.dumps(value, ensure_ascii=False):
        raise _report_unwritten(one.table, column)
    return value


def _report_unwritten(table: str, column: str) -> GraderFault:
    return GraderFault(f"an effect compares {table}.{column}, which is not written (a secret, or `hide`)")


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else show(value)
