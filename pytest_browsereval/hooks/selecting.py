"""Rows named on the command line: by their own ids as well, and with the nearest name for a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.hooks.names import is_eval
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import join_first
from pytest_browsereval.run.active import ActiveRun

LISTED = 10
"""Tags and trials that a message lists."""

_IN_EXPRESSION = re.compile(r"(?:\w|:|\+|-|\.|\[|\]|\\|/)+")
"""What pytest takes for a name in an expression of ``-m``."""


class Selecting:
    """Turns ``FILE::ID`` into the node id of the row, and tells of names that no row has."""

    def __init__(self, session: EvalSession) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Write node ids in the place of ids as rows and tables have them; pytest compares node ids."""
        config = session.config
        asked: dict[Path, list[str]] = {}
        for arg in config.args:
            if (path := _eval_of(config, arg)) is not None:
                asked.setdefault(path, []).append(arg.partition("::")[2])
        known = {path: self._trials(path, names) for path, names in asked.items()}
        config.args = [self._node_id(config, arg, known) for arg in config.args]

    def _trials(self, path: Path, names: list[str]) -> frozenset[str]:
        """Return the names of the trials of rows: hundreds may be asked for, and the file is read once."""
        try:
            entries = self._session.load_run(path).plan.entries(only={_base(name) for name in names})
            return frozenset(entry.name for entry in entries)
        except UsageError:  # told when the file is collected
            return frozenset()

    def _node_id(self, config: pytest.Config, arg: str, known: Mapping[Path, frozenset[str]]) -> str:
        file, _, name = arg.partition("::")
        path = _eval_of(config, arg)
        if path is None or name in known[path] or name in set(map(_base, known[path])):
            return arg
        try:
            return f"{file}::{item_name(self._session.load_run(path), name, file)}"
        except UsageError as error:
            self._session.problems.append(error)
            return file  # no matter what is collected now, nothing of it runs

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Tell of a tag that no row has, where ``-m`` selects nothing."""
        if items or self._session.problems or not config.option.markexpr:
            return
        expression = config.option.markexpr
        known = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
        tags = sorted({tag for one in self._session.runs.values() for tag in _tags(one)})
        words = {*_IN_EXPRESSION.findall(expression)} - {"and", "or", "not", "True", "False"}
        for name in sorted(words.difference(known, tags)):
            hint = nearest(name, tags)
            message = f" They have: {join_first(tags, LISTED)}." if tags and not hint else ""
            problem = f"-m {expression!r} selects nothing: no row has the tag or dataset {name!r}."
            self._session.problems.append(UsageError(f"{problem}{hint}{message}"))


def _eval_of(config: pytest.Config, arg: str) -> Path | None:
    """Return the eval config of which an argument names a row; None for any other argument."""
    file, colons, _ = arg.partition("::")
    base = config.invocation_params.dir
    path = (base / file).resolve()
    is_named = path in {(base / one).resolve() for one in config.getoption("eval_config")}
    return path if colons and (is_eval(file) or is_named) and path.is_file() else None


def _base(name: str) -> str:
    return name.partition("[")[0]


def item_name(active_run: ActiveRun, name: str, file: str) -> str:
    """Return the last part of a row's node id, for a name that is none itself.

    Args:
        active_run: of the config.
        name: a row's own id, or that with variant and trial as a table prints it.
        file: what a message calls the config.

    Raises:
        UsageError: no row is called that; the message has the nearest name.
    """
    if _trials(active_run, safe_id(name)):
        return safe_id(name)
    head, bracket, suffix = name.rpartition("[")
    if bracket and head and (f"{safe_id(head)}[{suffix}" in _trials(active_run, safe_id(head))):
        return f"{safe_id(head)}[{suffix}"
    if trials := _trials(active_run, safe_id(head or name)):
        hint = nearest(name, trials)
        raise UsageError(
            f"{file} has no trial {name!r}.{hint or f' The row has: {join_first(trials, LISTED)}.'}"
        )
    ids = dict.fromkeys(entry.ref.query_id for entry in active_run.plan.entries())
    raise UsageError(f"{file} has no row {name!r}.{nearest(head or name, ids)}")


def _trials(active_run: ActiveRun, name: str) -> list[str]:
    """Return the names of the trials of a row, which is given by its name in node ids."""
    return [entry.name for entry in active_run.plan.entries(only={name})]


def _tags(active_run: ActiveRun) -> Iterator[str]:
    """Yield the markers of all rows, whichever of them were asked for."""
    plan = active_run.plan
    try:
        for entry in plan.entries(is_limited=False):
            yield from plan.marks(entry)
    except UsageError:  # a row that cannot be read has no tag
        return
