"""Finds the shortest way of each row that is proved: it passes again, and doing nothing fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from pydantic import JsonValue

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.errors import ConfigError, DatasetError
from pytest_browsereval.features.shared.proof import (
    NO_OP,
    ORACLE,
    Stage,
    find_obstacle,
    has_judged,
    has_solved,
)
from pytest_browsereval.features.shared.ways import WAITS, Refused, Way, read_way
from pytest_browsereval.graders.dates import read_date
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.plan import Entry, Plan, Trial
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial
from pytest_browsereval.sites import names_in

MOST_WAYS = 3
"""Ways of a row that are tried, the shortest first."""
MOST_ROUNDS = 3
"""Times that parts of a way are left out."""
PARTS = 4
SOFT = {"hover", "hover_at", "scroll", "scroll_at", "reload"}
"""Tools that a way often needs no call of."""


@dataclass
class Row:
    """A row of the run, and what is known of its solution."""

    entry: Entry
    trial: Trial
    ways: list[Way] = field(default_factory=list)
    way: Way | None = None
    """The shortest one that is proved so far."""
    shown: tuple[str, ...] = ()
    """What of the answer the page shows at its end."""

    @property
    def name(self) -> str:
        """The id of the row."""
        return self.trial.task.query_id

    @property
    def dataset(self) -> DatasetConfig:
        """The block that it is of."""
        return self.entry.dataset

    @property
    def task(self) -> Task:
        """The row with its solution, as far as one is proved."""
        return self.solve(self.way, texts=self.shown) if self.way else self.trial.task

    def solve(self, way: Way, answer: str | None = None, texts: Iterable[str] = ()) -> Task:
        """Return the row with a way as its solution."""
        return self.trial.task.model_copy(update={"solution": way.solve(answer, *texts)})


@dataclass(frozen=True)
class Try:
    """A way of a row that is played."""

    row: Row
    way: Way
    answer: str | None = None
    """In the place of its own."""
    texts: tuple[str, ...] = ()
    """What the page has to show at its end."""
    number: int = 0
    """Tells it from others at the row; 0 has the row's own id."""

    @property
    def task(self) -> Task:
        """The row with the way as its solution."""
        task = self.row.solve(self.way, self.answer, self.texts)
        own = {"query_id": f"{task.query_id}~{self.number}"}
        return task.model_copy(update=own) if self.number else task

    @property
    def dataset(self) -> DatasetConfig:
        """The block that the row is of."""
        return self.row.dataset


@dataclass
class Harvest:
    """What came of a run."""

    rows: list[Row] = field(default_factory=list)
    """Those with a proved solution, in the order of the datasets."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why there is none, by the id of the row."""
    attacked: int = 0
    """Rows under attack, which have no solution of their own."""


def harvest(run: StoredRun, config: EvalConfig, registry: Registry, stage: Stage) -> Harvest:
    """Return the rows of a run with proved solutions.

    Args:
        run: whose passed attempts show the ways.
        config: its config, for the agent ``scripted``.
        registry: where rows look their graders up.
        stage: where they are played.
    """
    result = Harvest(attacked=len({one.query_id for one in run.attempts if one.derived is not None}))
    rows = [*_read_rows(run, config, registry, result)]
    _search(rows, stage, result)
    _refuse_idle([row for row in rows if row.way], stage, result)
    result.rows = [row for row in rows if row.way]
    return result


# -- what there is


def _read_rows(run: StoredRun, config: EvalConfig, registry: Registry, result: Harvest) -> Iterator[Row]:
    """Yield the rows that have a way."""
    store = RunStore.locate(config.output_dir, config.name, "harvest")  # never written
    active = ActiveRun(config=config, registry=registry, store=store, source=NewTrials)
    plan, variant = Plan(config, registry), next(iter(config.variants))
    entries = {
        ref.query_id: Entry(ref.query_id, ref, dataset, variant, 1)
        for dataset in config.dataset
        for ref in index_rows(dataset, config.base_dir)
    }
    plain = dict.fromkeys(one.query_id for one in run.attempts if one.derived is None)
    result.refused |= dict.fromkeys(plain.keys() - entries.keys(), "the config no longer has such a row")
    for name in (name for name in entries if name in plain):  # in the order of the files
        try:
            row = Row(entries[name], plan.ready(entries[name]))
            _check_row(row, config)
            row.ways = _find_ways(run, row, config)
            for way in row.ways:
                plan.check_agent(replace(row.trial, task=row.solve(way)), row.entry, active.toolsets)
        except (Refused, ConfigError, DatasetError) as error:
            result.refused[name] = one_line(str(error), 300)
        else:
            yield row


def _check_row(row: Row, config: EvalConfig) -> None:
    """Refuse a row that cannot be played again as it was.

    Raises:
        Refused: with the reason.
    """
    if why := find_obstacle(row.task, row.trial.graders):
        raise Refused(why)
    if row.task.depends_on:
        raise Refused("it depends on another row, so its way cannot be proved alone")
    for name in sorted({*row.task.sites} | names_in(row.task.model_dump_json())):
        site = config.sites.get(name)
        if site is not None and site.static is None and site.reset is None:
            raise Refused(f"its site {name!r} has no `reset`, so each try would change the next one")


def _find_ways(run: StoredRun, row: Row, config: EvalConfig) -> list[Way]:
    """Return the shortest ways of the passed attempts.

    Raises:
        Refused: there is none.
    """
    own = [one for one in run.attempts if one.query_id == row.name and one.derived is None]
    passed = [one for one in own if one.verdict is Verdict.PASSED]
    why = "no attempt of it passed" if not passed else "the row has changed since the run"
    found = list[Way]()
    for one in passed:
        try:
            found += [read_way(one, config)] if one.row_hash == row.trial.content_hash else []
        except (Refused, DatasetError) as error:
            why = str(error)
    if not found:
        raise Refused(why)
    found.sort(key=lambda way: len(way.clean.calls))
    return [way for place, way in enumerate(found) if way not in found[:place]][:MOST_WAYS]


# -- what holds


def _search(rows: Sequence[Row], stage: Stage, result: Harvest) -> None:
    """Find the shortest way that holds of each row; say of the others why there is none."""
    first = [Try(row, row.ways[0].clean) for row in rows]
    blind = [Try(row, row.ways[0].clean, "-", number=1) for row in rows]
    whys = _play(stage, [*first, *blind])
    is_blind = {one.row.name: not why for one, why in zip(blind, whys[len(rows) :], strict=True)}
    for one, why in zip(first, whys, strict=False):
        one.row.way = None if why else one.way
        result.refused |= {one.row.name: f"its known way does not pass again: {why}"} if why else {}
    found = [row for row in rows if row.way]
    for row in _improve(
        [row for row in rows if not row.way],
        stage,
        lambda row: [row.ways[0], *(one.clean for one in row.ways[1:])],
    ):
        del result.refused[row.name]
    # Nobody can tell what the agent had to see on its way, only that the page has to show the answer.
    _find_shown([row for row in found if not is_blind[row.name]], stage)
    _improve([row for row in found if is_blind[row.name] or row.shown], stage, _drop_detours)
    left = [row for row in found if is_blind[row.name]]
    for _ in range(MOST_ROUNDS):
        left = _improve(left, stage, _drop_parts)


def _improve(rows: Sequence[Row], stage: Stage, shorten: Callable[[Row], list[Way]]) -> list[Row]:
    """Give each row the shortest of several ways that holds; returns the rows for which one does."""
    tries = [Try(row, way, None, row.shown, n) for row in rows for n, way in enumerate(shorten(row), 1)]
    good = [one for one, why in zip(tries, _play(stage, tries), strict=True) if not why]
    best = {one.row.name: one for one in sorted(good, key=lambda one: -len(one.way.calls))}
    for one in best.values():
        one.row.way = one.way
    return [one.row for one in best.values()]


def _find_shown(rows: Sequence[Row], stage: Stage) -> None:
    """Note the texts of each row's answer that its last page shows, if it shows all of it."""
    texts = {row.name: list_shown(row.trial.task, row.way) for row in rows if row.way}
    tries = [
        Try(row, row.way, None, (text,), number)
        for row in rows
        if row.way
        for number, text in enumerate((text for part in texts[row.name] for text in part), 1)
    ]
    held = {
        (one.row.name, *one.texts) for one, why in zip(tries, _play(stage, tries), strict=True) if not why
    }
    for row in rows:
        parts = [[text for text in part if (row.name, text) in held] for part in texts[row.name]]
        row.shown = tuple(dict.fromkeys(part[0] for part in parts)) if all(parts) else ()


def _drop_detours(row: Row) -> list[Way]:
    """Return a way without what led back to where it was, all of it and each; without what is soft; both."""
    way = row.way or row.ways[0]
    every, at, loops = range(len(way.calls)), 0, list[range]()
    while at < len(way.calls):
        back = [end for end in every[at + 1 :] if way.urls[end + 1] == way.urls[at] != way.urls[end]]
        if way.urls[at + 1] != way.urls[at] and back:
            loops.append(range(at, back[0] + 1))
        at = loops[-1].stop if loops and loops[-1].start == at else at + 1
    soft = [place for place, call in enumerate(way.calls) if call["tool"] in SOFT]
    looped = [place for loop in loops for place in loop]
    cuts = [sorted({*looped, *soft}), looped, soft, *map(list, loops[:PARTS])]
    return [way.keep([one for one in every if one not in cut]) for cut in {tuple(one) for one in cuts} if cut]


def _drop_parts(row: Row) -> list[Way]:
    """Return a way without each quarter of it; a wait by itself keeps what follows from coming too early."""
    way = row.way or row.ways[0]
    places, size = range(len(way.calls)), -(-len(way.calls) // PARTS)
    parts = [places[begin : begin + size] for begin in places[:: max(1, size)]]
    acts = [part for part in parts if any(way.calls[place]["tool"] not in WAITS for place in part)]
    return [way.keep([place for place in places if place not in part]) for part in acts]


def _play(stage: Stage, tries: Sequence[Try]) -> list[str]:
    """Return why each does not hold; empty texts for those that do."""
    own = {one.task.query_id for one in tries if not one.number}  # these are played alone once more
    found, output = stage.play(ORACLE, tries, lambda one: one.last.query_id not in own or has_solved(one))
    return [_describe(found.get(one.task.query_id), output) for one in tries]


def _describe(trial: StoredTrial | None, output: str) -> str:
    """Return why a solution does not hold; empty if it does."""
    if trial is None:
        return f"no attempt was made: {output[-300:]}"
    errors = (error.message for error in trial.last.metadata.errors)
    return "" if has_solved(trial) else next(errors, trial.last.reason) or trial.verdict


def _refuse_idle(rows: Sequence[Row], stage: Stage, result: Harvest) -> None:
    """Refuse rows that pass where nothing is done, or where nobody knows."""
    found, output = stage.play(NO_OP, rows, has_judged)
    for row in rows:
        last = found[row.name].last if row.name in found else None
        if last is None or last.verdict is not Verdict.FAILED:
            why = f"did not end: {last.reason if last else output}"
            why = "passes as well" if last and last.verdict is Verdict.PASSED else why
            row.way, result.refused[row.name] = None, one_line(f"the agent `noop` {why}", 300)


# -- answers

LONGEST = 200
"""Characters of a text that is looked for."""
MOST_SPELLINGS = 3
"""Texts of one answer that are tried."""
_NUMBER = re.compile(r"([$€£¥]?)(\d(?:[\d.,]*\d)?)( [A-Za-z]\w+)?")
_DATE = re.compile(r"\d{1,2}\.? [A-Za-z]+ \d{4}|[A-Za-z]+ \d{1,2}, \d{4}|\d{4}-\d\d-\d\d")


def list_shown(task: Task, way: Way) -> list[list[str]]:
    """Return how the last looks of a way may have shown each part of the answer, the best text first.

    Empty unless they showed all of it.

    Args:
        task: the row, whose ``answer`` counts before the agent's own.
        way: of a passed attempt.
    """
    answer: JsonValue = way.answer if task.answer is None else task.answer
    values = answer if isinstance(answer, list) else [answer]
    parts = [list(islice(dict.fromkeys(_find(one, way.seen)), MOST_SPELLINGS)) for one in values]
    return parts if all(parts) else []


def _find(value: JsonValue, seen: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = [one for one in _NUMBER.findall(seen) if _read(one[1]) == abs(value)]
        # With the word that follows: a digit by itself is on most pages.
        yield from ("".join(one) for one in found if one[2])
        yield from (f"{sign}{digits}" for sign, digits, _ in found if sign or len(digits) > 2)
    elif isinstance(value, str) and 0 < len(value) <= LONGEST:
        if value.casefold() in seen.casefold():
            yield value
        elif wanted := read_date(value):
            dates = ((text, read_date(text)) for text in _DATE.findall(seen))
            yield from (text for text, moment in dates if moment and wanted.mismatch(moment) is None)


def _read(digits: str) -> float | None:
    plain = digits.replace(",", "")
    return float(plain) if plain.count(".") <= 1 else None
