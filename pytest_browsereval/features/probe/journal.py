"""``probes.jsonl`` of a run: a line for each known way that was played, written by all of its processes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

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
    """When the session began."""
    probe: Probe

    def is_of(self, trial: Trial, began: float) -> bool:
        """Whether it is what this session has found for the row and the variant."""
        is_same = (self.query_id, self.variant) == (trial.key.query_id, trial.key.variant)
        return is_same and self.row_hash == trial.content_hash and self.began == began

    def proves(self, trial: Trial, way: str) -> bool:
        """Whether it proves a way."""
        is_same = (self.query_id, self.row_hash, self.way) == (trial.key.query_id, trial.content_hash, way)
        return is_same and self.probe.outcome is ProbeOutcome.WORKS


def read_probes(run: StoredRun) -> Iterator[Line]:
    """Yield the lines of a run."""
    yield from run.read_lines(JOURNAL, Line.model_validate)


def find_probe(store: RunStore, trial: Trial, began: float) -> Probe | None:
    """Return what this session has found for a row and a variant; None if it has not looked."""
    return next((one.probe for one in read_probes(store.run) if one.is_of(trial, began)), None)


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
    while not lock.is_locked:
        try:
            lock.acquire()
        except Timeout:
            await asyncio.sleep(LOOK_S)
        except (OSError, NotImplementedError):  # a disk without locks: nobody can be asked
            break
    try:
        yield
    finally:
        lock.release()
