"""Rules about the row itself, and about what attempts of earlier runs show of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime

from pytest_browsereval.datasets.rows import TYPE_BY_SUFFIX
from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Row, Rule
from pytest_browsereval.graders.dates import find_dates
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.sites import names_in, unknown_sites

SHORT = 2
"""An expected text of so few characters is found on almost any page."""

# A rate of fewer judged trials says nothing.
ENOUGH = 3

_MARK = re.compile(r"__[A-Z][A-Z0-9_]*?__")


def expired_date(row: Row, given: Given) -> Iterator[Finding]:
    """Find a date in the goal or in what is expected that lies before today."""
    places = [("query", row.task.query), *row.expectations()]
    clock = row.task.clock or given.config.clock
    today = datetime.fromisoformat(clock).date() if clock else given.today
    past = ((key, day) for key, text in places for day in find_days(text) if day < today)
    if first := next(past, None):
        key, day = first
        shown = str(day) if key == "query" else row.quote(day)
        level = Level.NOTE if row.is_local(given.config) else Level.WARNING
        advice = "Move the date, or give the row a `clock`: the time that its page sees."
        yield row.report("expired-date", level, f"{key}: {shown} has passed.", advice)


def find_days(text: str) -> Iterator[date]:
    """Yield the dates of a text that name a day; month first where both fit."""
    for found in find_dates(text):
        year, month, day = found.fields[:3]
        if year and month and day:
            yield date(year, month, day)


def unresolved_placeholder(row: Row, given: Given) -> Iterator[Finding]:
    """Find marks of a benchmark that were not filled in, and braces around unknown sites."""
    task = row.task
    texts = {"start_url": task.start_url or "", "query": task.query}
    texts |= {f"checks.{place}": str(check) for place, check in enumerate(task.checks)}
    for key, text in texts.items():
        if found := _MARK.search(text):
            message = f"{key} has {found[0]!r}, which was not filled in."
            yield row.error("unresolved-placeholder", message, "Put the site's address there.")
    refused = {name for _, name in unknown_sites({"start_url": task.start_url}, given.config.sites)}
    for name in sorted(names_in(task.start_url or "") - set(given.config.sites) - refused):
        message = f"start_url has {{{name}}}, which is not replaced: the config has no site with that name."
        yield row.warning("unresolved-placeholder", message, "If a site is meant, add it to the key `sites`.")


def plain_gold(row: Row, _: Given) -> Iterator[Finding]:
    """Find answers of a protected row that are in plain text in the file."""
    is_plain = row.dataset.type in set(TYPE_BY_SUFFIX.values())
    if is_plain and row.task.protected and (row.task.answer is not None or row.task.metadata.source):
        advice = "Import the benchmark's own encrypted file, and never publish this one."
        yield row.error("plain-gold", "it is protected, but its answer is in plain text.", advice)


def underspecified_answer(row: Row, _: Given) -> Iterator[Finding]:
    """Find expected texts that other texts hold by chance."""
    is_loose = any(getattr(g, "match", "") == "includes" for g in row.graders)
    for key, text in row.expectations():
        is_contained = key.endswith((".contains", ".text")) or (key.startswith("answer") and is_loose)
        if is_contained and len(text.strip()) <= SHORT:
            message = f"{key}: {row.quote(text)} is so short that wrong answers contain it too."
            advice = (
                "Expect more of the text, or compare numbers (match: number) or the whole (match: exact)."
            )
            yield row.warning("underspecified-answer", message, advice)


RULES: tuple[Rule, ...] = (unresolved_placeholder, plain_gold, underspecified_answer, expired_date)


# -- earlier runs


def ask_runs(rows: Iterable[Row], runs: Iterable[StoredRun]) -> Iterator[Finding]:
    """Yield what attempts of earlier runs show about the rows.

    Attempts at another version of a row, and those under attack, do not count; what a merged run has too
    counts once.

    Raises:
        UsageError: a file of a run is damaged.
    """
    made: dict[str, dict[tuple[object, ...], StoredAttempt]] = {}
    for one in (one for run in runs for one in run.attempts if one.derived is None):
        same = (one.variant, one.trial, one.attempt, one.started_at, one.completed_at)
        made.setdefault(one.query_id, {}).setdefault(same, one)
    for row in rows:
        content = row.task.content_hash()
        if own := [one for one in made.get(row.task.query_id, {}).values() if one.row_hash == content]:
            yield from _rates(row, own)


def _rates(row: Row, made: list[StoredAttempt]) -> Iterator[Finding]:
    by_agent: dict[str, list[StoredAttempt]] = {}
    for one in made:
        if one.verdict is not Verdict.ERRORED:
            by_agent.setdefault(str(one.metadata.agent_config.get("type", "")), []).append(one)
    idle, oracle = (  # an older one played an older solution
        max(by_agent.pop(agent, ()), key=lambda one: one.started_at, default=None)
        for agent in ("noop", "scripted")
    )
    if idle is not None and _passed(idle):
        message = "an agent that does nothing passes it."
        yield row.error("always-passes", message, "Check for something that has to be done.")
    errors = [] if oracle is None else [one.message for one in oracle.metadata.errors]
    if oracle is not None and (errors or not _passed(oracle)):
        why = dict.fromkeys((*errors, oracle.reason))
        what = "passes without all of its steps" if _passed(oracle) else "fails"
        message = f"its own solution {what}: {'; '.join(filter(None, why)) or 'no reason is recorded'}."
        yield row.error("never-passes", message, "Correct the solution, the check or the site.")
    tried = [one for own in by_agent.values() for one in own]
    is_proved = oracle is not None and _passed(oracle)
    if len(tried) >= ENOUGH and not is_proved and not any(map(_passed, tried)):
        message = f"none of {len(tried)} judged attempts passed it."
        advice = "Add a solution to prove that it is solvable (--validate); keep it if it is only hard."
        yield row.warning("never-passes", message, advice)


def _passed(one: StoredAttempt) -> bool:
    return one.verdict is Verdict.PASSED
