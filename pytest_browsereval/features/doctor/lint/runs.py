"""Rules that look at earlier runs: rows that no attempt, each attempt or every other one passed, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_browsereval.features.doctor.lint.base import Finding, Given, Row, word
from pytest_browsereval.features.doctor.lint.order import Ended, find_dependence
from pytest_browsereval.features.doctor.lint.stored import EarlierAttempt
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run_files import open_written

# A rate of fewer judged trials says nothing.
ENOUGH = 3

# A rate between these, under one configuration, is that of a coin.
COIN = (0.25, 0.75)

ENOUGH_FOR_A_COIN = 4

# Bytes of a log that are searched: a page that crashes does so early.
_PAGE_BYTES = 4_000_000

_WALL = word("captcha", "verify (?:that )?you are (?:a )?human", "i'?m not a robot", "unusual traffic")


def ask_runs(given: Given, made: Mapping[str, list[EarlierAttempt]]) -> Iterator[Finding]:
    """Yield what earlier attempts show about the rows; attempts at another version of a row do not count."""
    ended: dict[Path, list[tuple[str, str]]] = {}
    for one in (one for own in made.values() for one in own):
        ended.setdefault(one.run, []).append((one.metadata.completed_at, one.metadata.query_id))
    for row in given.rows:
        content = row.task.content_hash()
        own = [one for one in made.get(row.task.query_id, ()) if one.metadata.row_hash == content]
        if own:
            yield from _rates(row, own, ended)
            yield from _pages(row, own)


def _rates(row: Row, made: list[EarlierAttempt], ended: Ended) -> Iterator[Finding]:
    judged = [one for one in made if one.metadata.verdict is not Verdict.ERRORED]
    idle, oracle = (_last(judged, agent) for agent in ("noop", "scripted"))
    if idle is not None and idle.passed:
        message = "an agent that does nothing passes it."
        yield row.error("always-passes", message, "Check for something that has to be done.")
    if oracle is not None and (not oracle.passed or oracle.metadata.errors):
        why = dict.fromkeys((*(one.message for one in oracle.metadata.errors), oracle.metadata.reason))
        what = "passes without all of its steps" if oracle.passed else "fails"
        message = f"its own solution {what}: {'; '.join(filter(None, why)) or 'no reason is recorded'}."
        yield row.error("never-passes", message, "Correct the solution, the check or the site.")
    tried = [one for one in judged if one.agent not in ("noop", "scripted")]
    good = [one for one in tried if one.passed]
    agents = len({one.setting for one in tried})
    of = f"{len(tried)} judged attempts by {agents} configuration{'s' if agents != 1 else ''}"
    if len(tried) >= ENOUGH and not good:
        if oracle is not None and oracle.passed:
            message, advice = f"its solution passes, and none of {of}.", "Keep it: an agent may learn it."
            yield row.note("hard", message, advice)
        else:
            advice = "Prove by a solution that it can be solved (--validate); keep it if it is only hard."
            yield row.warning("never-passes", f"none of {of} passed it.", advice)
    if len(tried) >= ENOUGH and len(good) == len(tried):
        message = f"all of {of} passed it."
        yield row.note("always-passes", message, "It no longer tells agents apart.")
    by_setting: dict[str, list[EarlierAttempt]] = {}
    for one in tried:
        by_setting.setdefault(one.setting, []).append(one)
    for own in by_setting.values():
        found = tuple(find_dependence(row, own, ended))
        yield from found or _find_coin(row, own)


def _last(made: list[EarlierAttempt], agent: str) -> EarlierAttempt | None:
    """Return the newest attempt of a kind of agent: an older one played an older solution."""
    own = [one for one in made if one.agent == agent]
    return max(own, key=lambda one: one.metadata.started_at, default=None)


def _find_coin(row: Row, made: list[EarlierAttempt]) -> Iterator[Finding]:
    good = sum(one.passed for one in made)
    if len(made) >= ENOUGH_FOR_A_COIN and COIN[0] <= good / len(made) <= COIN[1]:
        which = f"attempts of the variant {made[0].metadata.variant!r}"
        message = f"{good} of {len(made)} {which} passed it, as a coin would fall."
        advice = "Look whether goal, site or grader decides; compare by several trials."
        yield row.warning("coin-flip", message, advice)


def _pages(row: Row, made: list[EarlierAttempt]) -> Iterator[Finding]:
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
