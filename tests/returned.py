"""Runs that were exported and imported again: what has to be as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval import StoredAttempt, open_run
from pytest_browsereval.analysis.turns import Entry, StoredDelegation, StoredStep, StoredTurn
from pytest_browsereval.model.messages import Message


def plain(entries: tuple[Entry, ...]) -> list[Any]:
    """Return what happened, in each part of an attempt, as values to compare."""
    found: list[Any] = []
    for entry in entries:
        found.append(_plain_message(entry.reply if isinstance(entry, StoredTurn) else entry))
        for act in entry.acts if isinstance(entry, StoredTurn) else ():
            if isinstance(act, StoredStep):
                picture = act.picture.read_bytes() if act.picture else None
                found.append([_plain_message(act.call), _plain_message(act.result), picture])
            else:
                assert isinstance(act, StoredDelegation)
                found.append([_plain_message(act.goal), _plain_message(act.report), plain(act.turns)])
    return found


def _plain_message(message: Message | None) -> Any:
    return message and message.model_dump(exclude={"dom", "hit"})


def describe(attempt: StoredAttempt) -> dict[str, Any]:
    """Return all that has to come back of an attempt."""
    lost: Any = {"node_id": True, "grader_results": {"__all__": {"evidence"}}}  # names of files
    record = attempt.metadata.model_dump(exclude=lost)
    pictures = {number: path.read_bytes() for number, path in attempt.pictures.items()}
    return {"record": record, "turns": plain(attempt.turns), "pictures": pictures, "counts": attempt.counts}


def check_returned(run: Path, back: Path) -> None:
    """Check that a run and what came back of it are the same; of protected rows verdicts and figures are."""
    there = {one.id.split("/", 2)[2]: one for one in open_run(run).attempts}
    again = {one.id.split("/", 2)[2]: one for one in open_run(back).attempts}
    assert set(there) == set(again)
    for key, attempt in there.items():
        if attempt.is_protected:
            assert again[key].verdict is attempt.verdict
            assert again[key].is_protected
        else:
            assert describe(again[key]) == describe(attempt)
    first, second = (open_run(one).summary for one in (run, back))
    assert (second.pass_rate, second.cost_usd) == (first.pass_rate, first.cost_usd)
