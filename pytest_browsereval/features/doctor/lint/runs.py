"""Rules that look at earlier runs: rows that no attempt, each attempt or every other one passed, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_browsereval.features.doctor.lint.base import Finding, Given, Row, word
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run_files import open_written
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

# A rate of fewer judged trials says nothing.
ENOUGH = 3

# A rate between these, under one configuration, is that of a coin.
COIN = (0.25, 0.75)

ENOUGH_FOR_A_COIN = 4

# Bytes of a log that are searched: a page that crashes does so early.
_PAGE_BYTES = 4_000_000

_WALL = word("captcha", "verify (?:that )?you are (?:a )?human", "i'?m not a robot", "unusual traffic")


def ask_runs(given: Given, runs: Iterable[StoredRun]) -> Iterator[Finding]:
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
    for row in given.rows:
        content = row.task.content_hash()
        if own := [one for one in made.get(row.task.query_id, {}).values() if one.row_hash == content]:
            yield from _rates(row, own)
            yield from _pages(row, own)


def _rates(row: Row, made: list[StoredAttempt]) -> Iterator[Finding]:
    by_setting: dict[tuple[str, str], list[StoredAttempt]] = {}
    for one in made:
        if one.verdict is not Verdict.ERRORED:
            block = one.metadata.agent_config
            setting = json.dumps([one.variant, block], sort_keys=True, default=str)
            by_setting.setdefault((str(block.get("type", "")), setting), []).append(one)
    idle, oracle = (
        max(
            (one for (agent, _), own in by_setting.items() if agent == known for one in own),
            key=lambda one: one.started_at,  # an older one played an older solution
            default=None,
        )
        for known in ("noop", "scripted")
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
    of_agents = [own for (agent, _), own in by_setting.items() if agent not in ("noop", "scripted")]
    tried = [one for own in of_agents for one in own]
    good = list(filter(_passed, tried))
    agents = len(of_agents)
    of = f"{len(tried)} judged attempts by {agents} configuration{'s' if agents != 1 else ''}"
    if len(tried) >= ENOUGH and not good:
        if oracle is not None and _passed(oracle):
            message, advice = f"its solution passes, and none of {of}.", "Keep it: an agent may learn it."
            yield row.note("hard", message, advice)
        else:
            advice = "Prove by a solution that it can be solved (--validate); keep it if it is only hard."
            yield row.warning("never-passes", f"none of {of} passed it.", advice)
    if len(tried) >= ENOUGH and len(good) == len(tried):
        message = f"all of {of} passed it."
        yield row.note("always-passes", message, "It no longer tells agents apart.")
    for own in of_agents:
        count = sum(map(_passed, own))
        if len(own) >= ENOUGH_FOR_A_COIN and COIN[0] <= count / len(own) <= COIN[1]:
            which = f"attempts of the variant {own[0].variant!r}"
            message = f"{count} of {len(own)} {which} passed it, as a coin would fall."
            advice = "Look whether goal, site or grader decides; compare by several trials."
            yield row.warning("coin-flip", message, advice)


def _passed(one: StoredAttempt) -> bool:
    return one.verdict is Verdict.PASSED


def _pages(row: Row, made: list[StoredAttempt]) -> Iterator[Finding]:
    """Yield whether earlier attempts met a wall; what else pages have shown, causes say."""
    walled = [one for one in made if _WALL.search(_log(one.folder))]
    if walled and not _WALL.search(row.task.query):
        message = f"{len(walled)} of {len(made)} attempts met a captcha or a wall against robots."
        advice = "Its failures are the environment's: leave the row out, or run it where it is let in."
        yield row.warning("needs-captcha", message, advice)


def _log(folder: Path) -> str:
    try:
        with open_written(str(folder / "messages.jsonl")) as file:
            return file.read(_PAGE_BYTES).decode(errors="replace")
    except OSError:
        return ""
