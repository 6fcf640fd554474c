"""Tasks that a gate leaves out of its rates for a while: known to be broken, and run all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date
from typing import TYPE_CHECKING

from pytest_browsereval.model.derived import base_of
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.runs.attempt import StoredAttempt

if TYPE_CHECKING:  # `compare` and others need no config, which takes 0.1 s
    from pytest_browsereval.config import GateConfig

# Tasks in a message; the rest is counted.
NAMED = 5


def find_quarantined(gate: GateConfig, started: Iterable[str]) -> frozenset[str]:
    """Return the ids that are left out: those whose last day is not before the day of the run.

    The day of the run, in UTC, is that of its last attempt's begin: the folder says the same tomorrow.

    Args:
        gate: the rules.
        started: when the run's trials were started.
    """
    if not gate.quarantine:
        return frozenset()
    days = (_day(text) for text in {time[:10] for time in started})
    today = max((day for day in days if day is not None), default=None)
    if today is None:
        return frozenset()
    return frozenset(query_id for query_id, last in gate.quarantine.items() if last >= today)


def is_quarantined(trial: StoredAttempt, out: Collection[str]) -> bool:
    """Return whether a trial is left out: with a row go those that are derived from it."""
    return trial.query_id in out or base_of(trial) in out


def _day(text: str) -> date | None:
    """Return a day; None for what is none, in a file that something else has written."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def describe_quarantine(gate: GateConfig, trials: Collection[StoredAttempt], out: Collection[str]) -> str:
    """Return who is left out and how these did, and whose time is over.

    Args:
        gate: the rules.
        trials: of the run.
        out: ids that are left out.
    """
    verdicts: dict[str, Counter[str]] = {query_id: Counter() for query_id in out}
    derived: dict[str, dict[str, Counter[str]]] = {query_id: {} for query_id in out}
    for trial in trials:
        if trial.query_id in out:
            verdicts[trial.query_id][str(trial.verdict)] += 1
        elif trial.derived is not None and trial.derived.of in out:
            counts = derived[trial.derived.of].setdefault(trial.derived.by, Counter())
            counts[str(trial.verdict)] += 1
    shown = []
    for query_id in sorted(out):
        of_row = _count(verdicts[query_id]) or "no result"
        others = "".join(f"; under {by} {_count(counts)}" for by, counts in derived[query_id].items())
        shown.append(f"{one_line(query_id, 60)} until {gate.quarantine[query_id]} ({of_row}{others})")
    over = sorted(set(gate.quarantine) - set(out))
    parts = [f"left out of the rates: {join_first(shown, NAMED)}"] if shown else []
    ended = [f"{one_line(query_id, 60)} on {gate.quarantine[query_id]}" for query_id in over]
    parts += [f"ended, and counts again: {join_first(ended, NAMED)}"] if ended else []
    return "; ".join(parts)


def _count(verdicts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in verdicts.items())
