"""Writes the page that says what to mend about rows: one file without a script."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from pytest_browsereval.features.doctor.lint.base import Finding, Level, Row
from pytest_browsereval.features.doctor.lint.stored import StoredAttempt
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.report.links import PAGE, check_page, way_from
from pytest_browsereval.report.viewer.page import part
from pytest_browsereval.run_files import write_whole

MOST_ATTEMPTS = 12
"""Of a finding, the newest ones; the rest is counted."""


class Kind(NamedTuple):
    """Rows that need the same."""

    title: str
    rules: tuple[str, ...]
    meaning: str
    command: str
    """What to type next, with ``{config}`` and ``{row}``; empty if there is nothing to do."""


BROKEN = Kind(
    "Broken", (), "No result of such a row means anything.", "browsereval doctor {config} --validate"
)
KINDS = (
    BROKEN,
    Kind(
        "Depends on time or order",
        ("time-dependent", "order-dependent"),
        "Its verdict goes with when it runs, or with what ran before.",
        "pytest {row} --eval-set trials=3",
    ),
    Kind(
        "Passes by chance",
        ("coin-flip",),
        "A single trial says nothing: compare by several, or find what decides.",
        "pytest {row} --eval-set trials=8",
    ),
    Kind(
        "Broken or hard",
        ("never-passes",),
        "No agent has passed it, and no solution shows that one could.",
        "browsereval doctor {config} --validate",
    ),
    Kind("Hard", ("hard",), "Its solution passes, and no agent has: keep it.", ""),
    Kind("Tells nothing any more", ("always-passes",), "Each agent passes it.", ""),
)
LOOK = Kind("Look at these", (), "They may be stale, or need what is not there.", "")


@dataclass(frozen=True)
class RowsPage:
    """The page about the rows of a config."""

    findings: Sequence[Finding]
    rows: Sequence[Row]
    """All rows of the config."""
    config: Path
    """Its file."""
    runs: int
    """How many were looked at."""

    def write(self, file: Path) -> None:
        """Write the page.

        Raises:
            UsageError: the page cannot be there.
            OSError: it cannot be written.
        """
        check_page(file)
        title = f"Rows of {self.config.name}: what to mend"
        style = part("page.css") + files(__package__).joinpath("page.css").read_text(encoding="utf-8")
        names = {"title": _text(title), "style": style, "main": "\n".join(self._main(file))}
        head, *rest = files(__package__).joinpath("page.html").read_text(encoding="utf-8").split("@@")
        write_whole(file, head + "".join(names.get(one, one) for one in rest))

    def _main(self, file: Path) -> Iterator[str]:
        """Yield a section for each kind; a row is in the first that it belongs to, with all findings."""
        of_row: dict[tuple[str, str], list[Finding]] = {}
        for one in self.findings:
            of_row.setdefault((one.where, one.query_id), []).append(one)
        by = format_count(self.runs, "run") if self.runs else "no run"
        yield f"<p>{len(of_row)} of {format_count(len(self.rows), 'row')} have a finding, by {by}.</p>"
        of_kind: dict[Kind, list[list[Finding]]] = {}
        for own in of_row.values():
            of_kind.setdefault(_find_kind(own), []).append(own)
        queries = {(row.where, row.task.query_id): row.task.query for row in self.rows}
        for kind in (*KINDS, LOOK):
            if members := of_kind.get(kind):
                yield f"<section>\n<h2>{_text(kind.title)} <small>{len(members)}</small></h2>"
                yield f'<p class="hint">{_text(kind.meaning)}</p>'
                for own in members:
                    query = one_line(queries.get((own[0].where, own[0].query_id), ""), 200)
                    next_one = f" Next: <code>{_text(self._next(kind, own[0].query_id))}</code>"
                    yield "\n".join(_card(own, query, next_one * bool(kind.command), file))
                yield "</section>"

    def _next(self, kind: Kind, query_id: str) -> str:
        config = self.config.as_posix()
        return kind.command.format(config=shlex.quote(config), row=shlex.quote(f"{config}::{query_id}"))


def _find_kind(findings: Sequence[Finding]) -> Kind:
    if any(one.level is Level.ERROR for one in findings):
        return BROKEN
    rules = {one.rule for one in findings}
    return next((kind for kind in KINDS if rules & set(kind.rules)), LOOK)


def _card(findings: Sequence[Finding], query: str, next_one: str, file: Path) -> Iterator[str]:
    """Yield what was found about a row."""
    first = findings[0]
    yield f'<article class="card">\n<h3 class="id">{_text(one_line(first.query_id or first.where))}</h3>'
    if query:
        yield f'<p class="soft">{_text(query)}</p>'
    for one in findings:
        badge = f'<span class="badge" data-level="{one.level}">{_text(one.rule)}</span>'
        yield f"<p>{badge} {_text(f'{one.message[:1].upper()}{one.message[1:]} {one.advice}')}</p>"
        if one.attempts:
            yield from _attempts(one.attempts, file)
    yield f'<p class="hint">{_text(first.where)}.{next_one}</p>\n</article>'


def _attempts(attempts: Sequence[StoredAttempt], file: Path) -> Iterator[str]:
    """Yield a list of the newest attempts, the oldest of them in front."""
    made = sorted(attempts, key=lambda one: one.metadata.started_at)
    yield '<ol class="attempts">'
    if len(made) > MOST_ATTEMPTS:
        yield f"<li>and {len(made) - MOST_ATTEMPTS} earlier</li>"
    yield from (f"<li>{_attempt(one, file)}</li>" for one in made[-MOST_ATTEMPTS:])
    yield "</ol>"


def _attempt(one: StoredAttempt, file: Path) -> str:
    """Return an attempt, with a link if its run has a page."""
    data = one.metadata
    mark = {Verdict.PASSED: "✓", Verdict.FAILED: "✗", Verdict.ERRORED: "!"}[data.verdict]
    words = _text(f"{mark} {data.started_at[:16].replace('T', ' ')} {data.variant}, trial {data.trial}")
    if not (one.run / PAGE).is_file():
        return words
    way = way_from(file, one.run)
    place = quote(f"{way}/{PAGE}" if way else PAGE)
    anchor = quote(one.folder.relative_to(one.run / "tasks").as_posix(), safe="/+")
    return f'<a data-verdict="{data.verdict}" href="{_text(f"{place}#/{anchor}")}">{words}</a>'


def _text(text: str) -> str:
    return escape(well_formed(text))
