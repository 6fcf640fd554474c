"""The ``effects`` of a row: read, and matched to what has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.effects.diff import Difference, describe_difference, flatten, is_hidden
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

    def find_columns(self, one: Difference) -> set[str] | None:
        """Return which columns of a difference it is about; all of them are none. None if it is another's."""
        if one.kind != self.kind or (self.site and one.site != self.site):
            return None
        for column, value in self.selected.items():
            if _text(_known(one, column)) != value:
                return None
        if any(_is_other(_known(one, column), value) for column, value in self.where.items()):
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
        wrong = [c for c, v in expected.items() if _is_other(_known(one, c, is_after=True), v)]
        found = {c: f"{show(one.after.get(c), 60)}, " if with_values else "" for c in wrong}
        shown = [f"{c} is {found[c]}not {show(expected[c], 60)}" for c in wrong]
        return ", ".join(shown)


@dataclass(frozen=True)
class Matched:
    """What became of the effects of a row."""

    criteria: tuple[Criterion, ...]
    """One for each effect."""
    side_effects: tuple[Difference, ...]
    """What else has changed."""


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
    by, count, where = block.get("by"), block.get("count", 1), flatten(block.get("where", {}))
    equals, has_equals = block.get("equals"), "equals" in block
    return Effect(kind, path, column, where, selected, equals, has_equals, by, count, block.get("site", ""))


def _find_misuse(block: Mapping[str, Any], kind: str, column: str, *, is_selected: bool) -> str:
    """Return which key of an effect says what it cannot; empty if none does."""
    where, count, by, equals = (block.get(key) for key in ("where", "count", "by", "equals"))
    is_number = isinstance(by, int | float) and not isinstance(by, bool)
    is_count = isinstance(count, int) and not isinstance(count, bool) and count > 0
    misuses = {
        f"`where` is {show(where)}, and has to be an object of columns": (
            "where" in block and not isinstance(where, dict)
        ),
        f"`count` is {show(count)}, and has to be a whole number from 1": "count" in block and not is_count,
        f"the path {block[kind]!r} names a column, and whole rows are {kind}": column and kind != "changed",
        "`by` is the number by which a column was changed": (
            "by" in block and not (kind == "changed" and is_number)
        ),
        "`by` belongs to one column, without `equals`": (
            "by" in block and ("equals" in block or (is_selected and not column))
        ),
        "what was removed has no `equals`; `where` says which row it was": (
            "equals" in block and kind == "removed"
        ),
        f"`equals` is {show(equals)}, and has to be an object of columns": (
            "equals" in block and kind == "added" and not isinstance(equals, dict)
        ),
        "`site` has to be the name of a site": not isinstance(block.get("site", ""), str),
    }
    return next((said for said, is_so in misuses.items() if is_so), "")


def list_unwritten(effect: Effect, hide: Sequence[str]) -> Iterator[str]:
    """Yield the columns that an effect compares and whose values are never written."""
    named = {effect.path.rpartition(".")[2]: effect.path.rpartition(".")[0]} if effect.has_equals else {}
    columns = {*effect.where, *effect.selected, *effect.columns, *filter(None, [effect.column])}
    for column, table in {**dict.fromkeys(columns, effect.path), **named}.items():
        if is_hidden(hide, table, column):
            yield f"{table}.{column}" if table else column


def match_effects(
    effects: Sequence[Effect], differences: Sequence[Difference], *, with_values: bool = False
) -> Matched:
    """Match what a row asks for with what has changed; what is left over are side effects.

    An effect takes as many differences as its ``count``: first those that are as it says, then others that
    ``where`` finds, which fail it.

    Args:
        effects: of the row.
        differences: of all its sites.
        with_values: whether criteria name values that the state has.

    Raises:
        Fault: source *grader*: a value that is compared was not written.
    """
    left: dict[int, set[str]] = {place: {*one.columns} for place, one in enumerate(differences)}
    taken: dict[int, list[str]] = {place: [] for place in range(len(effects))}
    # Those that say more choose first.
    order = sorted(
        taken, key=lambda n: -len(effects[n].where) - len(effects[n].selected) - len(effects[n].columns)
    )
    for is_near in (False, True):
        for number in order:
            effect = effects[number]
            for place in list(left):
                if len(taken[number]) == effect.count:
                    break
                one = replace(differences[place], columns=tuple(left[place]))
                columns = effect.find_columns(one)
                if columns is None:
                    continue
                problem = effect.find_problem(one, columns, with_values=with_values)
                if not problem or is_near:
                    taken[number].append(problem)
                    left[place] -= columns
                    if not left[place]:
                        del left[place]
    criteria = tuple(_judge(effect, taken[number]) for number, effect in enumerate(effects))
    rest = (
        replace(differences[place], columns=tuple(c for c in differences[place].columns if c in columns))
        for place, columns in left.items()
    )
    return Matched(criteria, tuple(rest))


def _judge(effect: Effect, problems: Sequence[str]) -> Criterion:
    right = problems.count("")
    wrong = [problem for problem in problems if problem]
    if len(problems) < effect.count:
        found = f"{len(problems)} of {effect.count}" if problems else "nothing"
        wrong.append(f"{found} of {effect.path} was {effect.kind}")
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
    if isinstance(value, str) and MARK in value:
        raise _report_unwritten(one.table, column)
    return value


def _report_unwritten(table: str, column: str) -> GraderFault:
    return GraderFault(f"an effect compares {table}.{column}, which is not written (a secret, or `hide`)")


def _is_other(actual: JsonValue, expected: JsonValue) -> bool:
    return actual != expected or isinstance(actual, bool) is not isinstance(expected, bool)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else show(value)
