"""Finds the shortest way of each row that is proved: it passes again, and doing nothing fails."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.errors import ConfigError, DatasetError
from pytest_browsereval.features.harvest.answers import list_shown
from pytest_browsereval.features.shared.proof import (
    NO_OP,
    ORACLE,
    Stage,
    close_rows,
    find_obstacle,
    has_judged,
    has_solved,
    list_needed,
)
from pytest_browsereval.features.shared.ways import WAITS, Call, Refused, Way, read_way
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
    def dataset(self) -> DatasetConfig:
        """The block that it is of."""
        return self.entry.dataset

    @property
    def task(self) -> Task:
        """The row with its solution, as far as one is proved."""
        return self.make_task(self.way.solve(None, *self.shown)) if self.way else self.trial.task

    def make_task(self, solution: Sequence[Call]) -> Task:
        """Return the row with a solution."""
        return self.trial.task.model_copy(update={"solution": tuple(solution)})


@dataclass(frozen=True)
class Try:
    """A way of a row that is played."""

    row: Row
    way: Way
    answer: str | None = None
    """In the place of its own."""
    texts: tuple[str, ...] = ()
    """What the page has to show at its end."""
    is_own: bool = False
    """Whether it has the row's own id, by which others depend on it; then it is played alone once more."""
    number: int = 0

    @property
    def task(self) -> Task:
        """The row with the way as its solution, under an id of its own."""
        task = self.row.make_task(self.way.solve(self.answer, *self.texts))
        return task if self.is_own else task.model_copy(update={"query_id": f"{task.query_id}~{self.number}"})

    @property
    def dataset(self) -> DatasetConfig:
        """The block that the row is of."""
        return self.row.dataset


@dataclass(frozen=True)
class Idle:
    """A row of which nothing is done, after all that it depends on."""

    task: Task
    dataset: DatasetConfig


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
    rows = {row.task.query_id: row for row in _read_rows(run, config, registry, result)}
    kept = {row.task.query_id for row in close_rows([*rows.values()])}
    result.refused |= dict.fromkeys(rows.keys() - kept, "it depends on a row without a known way")
    _prove([rows[name] for name in rows if name in kept], stage, result)
    proved = [row for row in rows.values() if row.way]
    result.rows = close_rows(proved)
    lost = {row.task.query_id for row in proved} - {row.task.query_id for row in result.rows}
    result.refused |= dict.fromkeys(lost, "it depends on a row that was not harvested")
    order = list(dict.fromkeys(one.query_id for one in run.attempts))
    result.refused = {name: result.refused[name] for name in order if name in result.refused}
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
    result.refused |= dict.fromkeys(plain.keys() - entries.keys(), "the config has no such row any more")
    for name in (name for name in entries if name in plain):  # in the order of the files
        try:
            row = Row(entries[name], plan.ready(entries[name]))
            _check_row(row, config)
            _find_ways(run, row, config)
            for way in row.ways:
                solved = replace(row.trial, task=row.make_task(way.solve()))
                plan.check_agent(solved, row.entry, active.toolsets)
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
    for name in sorted({*row.task.sites} | names_in(row.task.model_dump_json())):
        site = config.sites.get(name)
        if site is not None and site.static is None and site.reset is None:
            raise Refused(f"its site {name!r} has no `reset`, so each try would change the next one")


def _find_ways(run: StoredRun, row: Row, config: EvalConfig) -> None:
    """Find the shortest ways of the passed attempts.

    Raises:
        Refused: there is none.
    """
    own = [one for one in run.attempts if one.query_id == row.task.query_id and one.derived is None]
    passed = [one for one in own if one.verdict is Verdict.PASSED]
    current = [one for one in passed if one.row_hash == row.trial.content_hash]
    why = "no attempt of it passed" if not passed else "the row was changed since the run"
    found = list[Way]()
    for one in current:
        try:
            found.append(read_way(one, config))
        except (Refused, DatasetError) as error:
            why = str(error)
    found.sort(key=lambda way: len(way.clean.calls))
    row.ways = [way for place, way in enumerate(found) if way not in found[:place]][:MOST_WAYS]
    if not row.ways:
        raise Refused(why)


# -- what holds

Search = Generator[list[Try], list[str], str]
"""Yields what is to be played, takes why each does not hold, and returns why no way of the row does."""


def _prove(rows: Sequence[Row], stage: Stage, result: Harvest) -> None:
    """Find the shortest way that holds of each row; say of the others why there is none."""
    tied = {name for row in rows for name in row.task.depends_on}
    searches = {
        row.task.query_id: _search(row, is_free=not (row.task.depends_on or row.task.query_id in tied))
        for row in rows
    }
    asked = {name: next(search) for name, search in searches.items()}
    while asked:
        whys = iter(_play(stage, [one for tries in asked.values() for one in tries]))
        answers = {name: [next(whys) for _ in tries] for name, tries in asked.items()}
        asked = {}
        for name, found in answers.items():
            try:
                asked[name] = searches[name].send(found)
            except StopIteration as end:
                if end.value:
                    result.refused[name] = end.value
    idle, output = _play_idle(close_rows([row for row in rows if row.way]), stage)
    for row in rows:
        name = row.task.query_id
        verdict = idle[name].last.verdict if name in idle else Verdict.ERRORED
        if row.way and verdict is not Verdict.FAILED:
            why = f"did not end: {idle[name].last.reason if name in idle else output}"
            why = "passes as well" if verdict is Verdict.PASSED else why
            row.way, result.refused[name] = None, one_line(f"the agent `noop` {why}", 300)


def _play_idle(rows: Sequence[Row], stage: Stage) -> tuple[dict[str, StoredTrial], str]:
    """Return what becomes of rows of which nothing is done, and the last words of pytest."""
    found, output = stage.play(NO_OP, [row for row in rows if not row.task.depends_on], has_judged)
    for row in (row for row in rows if row.task.depends_on):
        # What it depends on has to pass for it to begin, so that is done.
        before = list_needed(rows, [row.task.query_id])
        idle = row.make_task([{"tool": "done", "answer": "-"}])
        played = [Idle(idle, one.dataset) if one is row else one for one in before]
        more, output = stage.play(ORACLE, played, has_judged)
        found |= {name: trial for name, trial in more.items() if name == row.task.query_id}
    return found, output


def _search(row: Row, *, is_free: bool) -> Search:
    """Search for the shortest way of a row.

    Args:
        row: where it is put.
        is_free: whether it depends on no other row and none on it: only then it is played several times.
    """
    way = row.ways[0].clean
    why, *blind = yield [Try(row, way, is_own=True), *([Try(row, way, "-")] if is_free else [])]
    if why and is_free:
        others = [row.ways[0], *(one.clean for one in row.ways[1:])]
        whys = yield [Try(row, one) for one in others]
        good = [one for one, bad in zip(others, whys, strict=True) if not bad]
        why, way, blind = ("", good[0], []) if good else (why, way, [])
    if why:
        return f"its known way does not pass again: {why}"
    row.way = way
    if is_free and blind == [""]:
        yield from _cut(row, _drop_detours, *([_drop_parts] * MOST_ROUNDS))
    elif is_free and (parts := list_shown(row.trial.task, way)):
        # Nobody can tell what the agent had to see on its way, only that the page has to show the answer.
        told = iter((yield [Try(row, way, texts=(text,)) for texts in parts for text in texts]))
        held = [[text for text in texts if not next(told)] for texts in parts]
        row.shown = tuple(dict.fromkeys(texts[0] for texts in held)) if all(held) else ()
        if row.shown:
            yield from _cut(row, _drop_detours)
    return ""


def _cut(row: Row, *shortened: Callable[[Way], list[Way]]) -> Generator[list[Try], list[str], None]:
    """Leave out of a way what it holds without."""
    for shorten in shortened:
        assert row.way is not None  # noqa: S101 the caller has found one
        shorter = shorten(row.way)
        whys = yield [Try(row, one, texts=row.shown) for one in shorter]
        good = [one for one, bad in zip(shorter, whys, strict=True) if not bad]
        row.way = min(good, key=lambda one: len(one.calls), default=row.way)
        if not good and shorten is _drop_parts:
            return


def _drop_detours(way: Way) -> list[Way]:
    """Return a way without what led back to where it was, all of it and each; without what is soft; both."""
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


def _drop_parts(way: Way) -> list[Way]:
    """Return a way without each quarter of it; a wait by itself keeps what follows from coming too early."""
    places, size = range(len(way.calls)), -(-len(way.calls) // PARTS)
    parts = [places[begin : begin + size] for begin in places[:: max(1, size)]]
    acts = [part for part in parts if any(way.calls[place]["tool"] not in WAITS for place in part)]
    return [way.keep([place for place in places if place not in part]) for part in acts]


def _play(stage: Stage, tries: Sequence[Try]) -> list[str]:
    """Return why each does not hold; empty texts for those that do."""
    tries = [replace(one, number=number) for number, one in enumerate(tries, 1)]
    own = {one.task.query_id for one in tries if one.is_own}
    trials, output = stage.play(
        ORACLE, tries, lambda trial: trial.last.query_id not in own or has_solved(trial)
    )
    return [_describe(trials.get(one.task.query_id), output) for one in tries]


def _describe(trial: StoredTrial | None, output: str) -> str:
    """Return why a solution does not hold; empty if it does."""
    if trial is None:
        return f"no attempt was made: {output[-300:]}"
    errors = (error.message for error in trial.last.metadata.errors)
    return "" if has_solved(trial) else next(errors, trial.last.reason) or trial.verdict
