"""Base of the lint rules: findings, rows, and what rules are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.protection import hide_quotes
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.sites import names_in

# In the place of a value of a protected row, which must not be printed.
HIDDEN = "***"


class Level(StrEnum):
    """How bad a finding is: only an error makes the doctor's exit code 1."""

    ERROR = "error"
    """The row cannot be run, or its grade would mean nothing."""
    WARNING = "warning"
    """It is likely to be stale or broken: look at it."""
    NOTE = "note"
    """Good to know when its result is read."""


@dataclass(frozen=True)
class Finding:
    """What a rule found about a row."""

    rule: str
    level: Level
    where: str
    """File and line."""
    query_id: str
    """Empty where it is about the whole file, or no id could be read."""
    message: str
    """What was found."""
    advice: str
    """What to do."""

    def __str__(self) -> str:
        row = f" row {self.query_id!r}:" if self.query_id else ""
        return f"{self.where}:{row} {self.message} {self.advice}"


@dataclass(frozen=True)
class Row:
    """A row with where it stands and its graders."""

    task: Task
    where: str
    dataset: DatasetConfig
    graders: tuple[GraderConfig, ...] = ()

    def report(self, rule: str, level: Level, message: str, advice: str) -> Finding:
        """Return a finding about this row, without what a protected one expects."""
        message = hide_quotes(message, self.task)
        return Finding(rule, level, self.where, self.task.query_id, message, advice)

    def error(self, rule: str, message: str, advice: str) -> Finding:
        """Return a finding that makes the exit code 1."""
        return self.report(rule, Level.ERROR, message, advice)

    def warning(self, rule: str, message: str, advice: str) -> Finding:
        """Return a finding that is likely to matter."""
        return self.report(rule, Level.WARNING, message, advice)

    def expectations(self) -> Iterator[tuple[str, str]]:
        """Yield the texts and numbers that the row's answer and checks expect, each with its key."""
        yield from _leaves(self.task.answer, "answer")
        for place, check in enumerate(self.task.checks):
            # What must not hold is not expected.
            expected = {} if check.get("not") else {k: v for k, v in check.items() if k not in _NOT_EXPECTED}
            yield from _leaves(expected, f"checks.{place}")

    def is_local(self, config: EvalConfig) -> bool:
        """Whether it begins on a site of the config: such a site may have a date of its own."""
        return bool(names_in(self.task.start_url or "") & set(config.sites))

    def quote(self, value: object) -> str:
        """Return a value for a message; one of a protected row stays hidden."""
        return HIDDEN if self.task.protected else repr(str(value)[:60])


# Keys of a check that say where to look, not what to find there.
_NOT_EXPECTED = frozenset({"path", "js", "storage", "role", "weight", "count", "name"})


@dataclass(frozen=True)
class Given:
    """What a rule gets besides the row."""

    config: EvalConfig
    today: date


# Looks at one row.
Rule = Callable[[Row, Given], Iterator[Finding]]


def _leaves(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}")
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{key}.{place}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield key, str(value)
