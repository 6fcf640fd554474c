"""What effects of rows do not see: one thing too many, and what differs between plays of the same steps."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.doctor.lint.base import Finding, Level, Row
from pytest_browsereval.features.shared.effects import Change, read_differences
from pytest_browsereval.graders.nested import unfold
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.relations import list_own_sites
from pytest_browsereval.runs.attempt import StoredAttempt

MOST_NAMED = 5

Play = Callable[[list[Row]], Sequence[StoredAttempt]]
"""Plays the solutions of rows."""


def has_effects(row: Row) -> bool:
    """Whether a grader of a row compares what has changed."""
    return any(one.reads.effects for grader in row.graders for one in unfold(grader))


def try_one_too_many(
    rows: Sequence[Row], solved: Mapping[str, StoredAttempt], config: EvalConfig, play: Play
) -> tuple[list[str], list[str], list[Finding]]:
    """Play the solution of each row with the steps of another one of its sites, which has to be refused.

    Args:
        rows: that depend on no other one.
        solved: attempts that have passed with all steps of their solutions, by the ids of the rows.
        config: what the rows are run under.
        play: plays rows on fresh state.

    Returns:
        Ids of rows that name it as a side effect, ids of rows of whose sites no other row is known to change
        more, and findings about rows that pass with it.
    """
    own = {row.task.query_id: row for row in rows if row.task.query_id in solved and has_effects(row)}
    changes = {name: _count_changes(solved[name]) for name in own}
    sites = {name: list_own_sites(row.task, config.sites) for name, row in own.items()}
    tables = {name: {(kind, table) for kind, table, *_ in changes[name]} for name in own}
    pairs = dict[str, str]()
    for name in own:
        others = [one for one in own if one != name and changes[one] and sites[one] <= sites[name]]
        # Changes like its own are missed most easily, but the same ones would be nothing more.
        ranks = {one: (len(tables[one] & tables[name]), changes[one] != changes[name]) for one in others}
        if others:
            pairs[name] = max(others, key=ranks.__getitem__)
    refused, findings = list[str](), list[Finding]()
    for attempt in play([_add_steps(own[name], own[other].task) for name, other in pairs.items()]):
        name = attempt.query_id
        more = _count_changes(attempt) - changes[name]
        if attempt.verdict is not Verdict.ERRORED and attempt.side_effects:
            refused.append(name)
        elif attempt.verdict is Verdict.PASSED and more:
            findings.append(_report(own[name], pairs[name], more))
    tried = {*refused, *(one.query_id for one in findings)}
    return refused, [name for name in own if name not in tried], findings


def _add_steps(row: Row, other: Task) -> Row:
    steps, last = list(row.task.solution), []
    if steps and steps[-1].get("tool") == "done":
        last = [steps.pop()]
    go = [{"tool": "navigate", "url": other.start_url}] if other.start_url else []
    more = [step for step in other.solution if step.get("tool") != "done"]
    return replace(row, task=row.task.model_copy(update={"solution": (*steps, *go, *more, *last)}))


def _report(row: Row, other: str, more: Counter[tuple[str, ...]]) -> Finding:
    named = join_first([" ".join(one).replace(" .", ".") for one in sorted(more)], MOST_NAMED)
    message = f"it passes with the steps of {other!r} as well, although these change more: {named}."
    advice = "Say in `effects` which rows change (`where`) and how (`equals`, `by`, `count`)."
    return row.warning("misses-side-effects", message, advice)


def _count_changes(attempt: StoredAttempt) -> Counter[tuple[str, ...]]:
    """Return how often something changed: kinds, and tables with columns. Keys may differ by chance."""
    return Counter(
        (one["kind"], one["table"], *([f".{column}"] if column else []))
        for _, one in _read_differences(attempt)
        for column in one["columns"] or ("",)
    )


def _read_differences(attempt: StoredAttempt) -> list[tuple[str, Change]]:
    """Return what an attempt has changed, each with its site; nothing where it was not kept."""
    with suppress(FileNotFoundError):
        return read_differences(attempt.local_folder)
    return []


# -- volatile


def propose_volatile(
    idle: Iterable[StoredAttempt], solved: Iterable[StoredAttempt], rows: Sequence[Row], config: EvalConfig
) -> Iterator[Finding]:
    """Yield, for each site, what changes by itself and no effect names.

    Args:
        idle: attempts that did nothing.
        solved: two attempts or more by each solution.
        rows: all of the config.
        config: has the sites.
    """
    found: dict[str, dict[str, None]] = {name: {} for name, site in config.sites.items() if site.state}
    plays: dict[str, list[StoredAttempt]] = {}
    for one in solved:
        plays.setdefault(one.query_id, []).append(one)
    by_itself = [(site, path) for one in idle for site, path in _list_paths(_read_differences(one))]
    by_chance = [
        path
        for first, *others in plays.values()
        for other in others
        for path in _compare_plays(_read_differences(first), _read_differences(other))
    ]
    for site, (table, column) in (*by_itself, *by_chance):
        if site in found and not any(_names(row.task, table, column) for row in rows):
            found[site][f"{table}.{column}" if table else column] = None
    for site, paths in found.items():
        whole = [path[:-1] for path in paths if path.endswith(".*")]
        kept = [path for path in paths if path.endswith(".*") or not path.startswith(tuple(whole))]
        message = f"site {site!r}: effects name everything that changes by itself."
        advice = "`volatile` can stay as it is."
        if kept:
            message = f"site {site!r}: {', '.join(kept)} can change with no agent or between identical runs."
            known = [*config.sites[site].volatile, *kept]
            advice = f"Unless an agent could change them, write `volatile: {json.dumps(known)}`."
        yield Finding("volatile", Level.NOTE, format_path(config.path), "", message, advice)


_Path = tuple[str, tuple[str, str]]
"""A site, and a table with a column; ``*`` for all of them."""


def _list_paths(differences: Iterable[tuple[str, Change]]) -> Iterator[_Path]:
    for site, one in differences:
        yield from ((site, (one["table"], column)) for column in one["columns"] or ("*",))


def _compare_plays(first: Iterable[tuple[str, Change]], second: Iterable[tuple[str, Change]]) -> list[_Path]:
    """Return columns whose values differ, but for those that tell rows apart; tables with other new rows."""
    one, other = Counter(_list_values(first)), Counter(_list_values(second))
    kinds = {kind for kind, *_ in one} & {kind for kind, *_ in other}
    differing = [*(one - other), *(other - one)]
    return sorted({(kind[0], (kind[1], column)) for kind, column, _ in differing if kind in kinds})


def _list_values(
    differences: Iterable[tuple[str, Change]],
) -> Iterator[tuple[tuple[str, str, str], str, str]]:
    for site, one in differences:
        # Of an added row no column matters: that it is there at all is what no effect names.
        for column in [name for name in one["columns"] or one["after"] if name not in one["key"]]:
            value = json.dumps(one["after"].get(column), sort_keys=True)
            yield (site, one["table"], one["kind"]), column if one["columns"] else "*", value


def _names(task: Task, table: str, column: str) -> bool:
    """Whether an effect of a row may be about a column, or about the table of which all is meant."""
    for block in task.effects if isinstance(task.effects, tuple) else ():
        kind = next((one for one in ("added", "changed", "removed") if one in block), "")
        path = str(block.get(kind, ""))
        base = path.partition("[")[0]
        if base != table and not base.startswith(f"{table}." if table else column):
            continue
        words = re.findall(r"[\w.]+", json.dumps(block))
        says_columns = "equals" in block or "by" in block or path != table
        if column == "*" or (kind == "changed" and not says_columns):
            return True
        if any(word == column or word.endswith(f".{column}") for word in words):
            return True
    return False
