"""Rules that look at earlier runs: rows that no attempt passed, or doing nothing did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_browsereval.features.doctor.lint.base import Finding, Row
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

# A rate of fewer judged trials says nothing.
ENOUGH = 3


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
