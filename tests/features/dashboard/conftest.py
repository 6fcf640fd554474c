"""A run that goes on, served, and somebody with a browser who watches it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.dashboard.feed import Watched
from pytest_browsereval.features.dashboard.queue import Queue, Trial
from pytest_browsereval.features.dashboard.server import DashboardServer
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.control import Control, ControlState
from pytest_browsereval.run.store import AttemptFolder, RunStore
from tests.features.dashboard.asking import Asker
from tests.features.shared.viewer.conftest import watch
from tests.labelled import paint

__all__ = ["watch"]


class Flying:
    """An attempt in flight, made by nobody."""

    def __init__(self, store: RunStore, query_id: str) -> None:
        self.store = store
        self._attempt: AttemptFolder = store.begin_attempt(TrialKey(query_id), query_id)
        self.folder = self._attempt.path
        self._log = MessageLogger(self.folder)

    def say(self, *messages: Message) -> None:
        for message in messages:
            self._log.log(message)

    def picture(self, number: int) -> None:
        (self.folder / "screenshots").mkdir(exist_ok=True)
        paint(self.folder / "screenshots" / f"{number:03}.png", f"page {number}")

    def close(self) -> None:
        self._log.close()

    def end(self, metadata: TaskMetadata | None) -> None:
        """End it; without metadata it was given up."""
        self.close()
        if metadata is not None:
            self.store.save_record(metadata)
        self._attempt.finish()


class Session:
    """A session of a run, made by nobody: what its processes would write into the run's folder."""

    def __init__(self, root: Path, name: str = "s1") -> None:
        self.store = RunStore(root)
        self.queue = Queue()
        self.control = Control(self.store, name)
        self._workers: dict[str, RunStore] = {}
        self._flying: list[Flying] = []

    def begin(self, *ids: str, processes: int = 0, lanes: int = 2) -> None:
        trials = {name: Trial(TrialKey(name), f"Do {name}.") for name in ids}
        self.queue.begin(trials, processes=processes, lanes=lanes)

    def fly(self, query_id: str, worker: str = "main") -> Flying:
        store = self._workers.setdefault(worker, RunStore(self.store.root, worker=worker))
        self._flying.append(flying := Flying(store, query_id))
        return flying

    def close(self) -> None:
        """Close logs that were left open: nobody has ended these attempts."""
        for one in self._flying:
            one.close()

    def watched(self, name: str) -> Watched:
        """Return the run as a dashboard watches it."""
        return Watched(name, self.store, self.control, open_door(), self.queue)

    @property
    def state(self) -> ControlState:
        return self.control.read_state()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Return a session that has begun nothing."""
    with closing(Session(tmp_path / "a run #1")) as made:
        yield made


@pytest.fixture
def server(session: Session) -> Iterator[DashboardServer]:
    """Return the dashboard of the session."""
    with closing(DashboardServer(lambda: [session.watched("shop")])) as served:
        yield served


@pytest.fixture
def asker(server: DashboardServer) -> Asker:
    """Return somebody who has its address."""
    return Asker.of(server.url)
