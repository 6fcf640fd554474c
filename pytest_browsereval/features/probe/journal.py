"""``probes.jsonl`` of a run: a line for each known way that was played, written by all of its processes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

from pydantic import BaseModel, ConfigDict

from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.probe import Probe, ProbeOutcome
from pytest_browsereval.run.locks import LOCKS
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun

JOURNAL = "probes.jsonl"

LOOK_S = 0.1
"""How often it is looked whether another attempt at the row has ended its probe."""


class Line(BaseModel):
    """A line of it."""

    model_config = ConfigDict(frozen=True)

    at: str
    query_id: str
    variant: str
    row_hash: str
    way: str
    """Hash of the steps."""
    began: float
    """When the session began, in seconds since 1970."""
    probe: Probe


def has_probed(run: StoredRun, trial: Trial, way: str) -> bool:
    """Whether a probe of a run has passed by a way."""
    key = trial.key.query_id, trial.content_hash, way, ProbeOutcome.WORKS
    lines = run.read_lines(JOURNAL, Line.model_validate)
    return any((one.query_id, one.row_hash, one.way, one.probe.outcome) == key for one in lines)


def find_probe(store: RunStore, trial: Trial, began: float) -> Probe | None:
    """Return what this session has found for a row and a variant; None if it has not looked."""
    key = trial.key.query_id, trial.key.variant, trial.content_hash, began
    lines: Iterator[Line] = store.run.read_lines(JOURNAL, Line.model_validate)
    found = (one for one in lines if (one.query_id, one.variant, one.row_hash, one.began) == key)
    return next((one.probe for one in found), None)


def write_probe(store: RunStore, trial: Trial, way: str, began: float, probe: Probe) -> None:
    """Add a line.

    Args:
        store: the run.
        trial: at whose row a way was played.
        way: hash of the steps.
        began: when the session began, in seconds since 1970.
        probe: what it came to.

    Raises:
        OSError: it cannot be written.
    """
    key = {"query_id": trial.key.query_id, "variant": trial.key.variant, "row_hash": trial.content_hash}
    line = Line(at=now(), **key, way=way, began=began, probe=probe)
    store.append(JOURNAL, line.model_dump(mode="json", exclude_defaults=True))


@asynccontextmanager
async def hold_row(store: RunStore, trial: Trial) -> AsyncIterator[None]:
    """Let one attempt at a row and a variant probe at a time, over all lanes and processes."""
    from filelock import FileLock, Timeout  # takes 10 ms

    name = f"probe-{safe_folder(trial.key.query_id)}-{safe_folder(trial.key.variant)}"
    (store.root / LOCKS).mkdir(parents=True, exist_ok=True)
    lock = FileLock(store.root / LOCKS / re.sub(r"[^\w%.-]", "_", name), timeout=0, thread_local=False)
    with suppress(OSError, NotImplementedError):  # a disk without locks: nobody can be asked
        while not lock.is_locked:
            with suppress(Timeout):
                lock.acquire()
                break
            await asyncio.sleep(LOOK_S)
    try:
        yield
    finally:
        lock.release()
