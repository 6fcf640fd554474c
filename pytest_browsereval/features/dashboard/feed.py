"""Tells pages of the dashboard what a run does, by its folder, while a page is open.

Rows of attempts are numbered as they change, and a page asks for those after the last one that it has. How
things stand (lanes, queue, figures) it gets whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.features.dashboard.flights import Flights
from pytest_browsereval.features.dashboard.queue import Queue
from pytest_browsereval.features.shared.viewer.attempts import ShownAttempt, read_attempt
from pytest_browsereval.features.shared.viewer.rows import Table, about_run
from pytest_browsereval.features.shared.viewer.standing import quarantine_of, repeats_of, resumes_of
from pytest_browsereval.model.display import natural
from pytest_browsereval.run.control import Control
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import RunSummary


@dataclass(frozen=True)
class Watched:
    """A running run."""

    name: str
    store: RunStore
    control: Control
    door: Door
    queue: Queue


class Feed:
    """Tells the pages of one run. Only the server's loop may use it.

    Args:
        watched: the run.
    """

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.run = StoredRun(watched.store.root, watched.door)
        self.states: dict[str, Any] = {}
        """How things stand, by their names."""
        self.asked_at = 0.0
        """When a page has last asked, by the monotonic clock."""
        self._table = Table()
        self._changed: list[list[Any]] = []
        """Rows of the table, in the order in which they have changed."""
        self._revisions: dict[str, int] = {}
        """The line of each attempt that was read, by keys."""
        self._flights = Flights(watched.store.root)
        self._queue = watched.queue
        self._about: dict[str, Any] = {}

    # -- looking at the folder

    def catch_up(self) -> None:
        """Read what is new in the folder."""
        begun, ended = self._flights.look()
        for flight in begun:
            if flight.key not in self._revisions:  # else it is graded again: its row stays until then
                trial = self._queue.trials.get(flight.node_id)
                query_id, query = (trial.key.query_id, trial.query) if trial else ("", "")
                attempt = ShownAttempt(flight.folder, flight.key, None, "")
                self._changed += self._table.add(attempt, query_id=query_id, query=query)
        lines = self.run.update_lines()
        for data in [data for trial in lines.trials for data in lines.list_tries(trial)]:
            key = find_place(data).partition("/")[2]
            if self._revisions.get(key) != data.revision:
                self._revisions[key] = data.revision
                if max(data.regraded_at or "", data.completed_at) >= (self._queue.began_at or "~"):
                    self._queue.made.add(data.key)
                self._take(key)
        for flight in ended:
            if flight.key not in self._revisions:  # given up
                self._take(flight.key)
        self._stand()

    def _take(self, key: str) -> None:
        self._table.drop_unfinished(key)
        self._changed += self._table.add(read_attempt(self.run, key))

    def _stand(self) -> None:
        """Record how things stand."""
        control = self.watched.control.read_state()
        running = {flight.node_id for flight in self._flights}
        summary = self.run.sum_up_lines()
        ended = {"exit_code": self._queue.exit_code, "at": self._queue.ended_at}
        self.states = {
            "lanes": self._lanes(),
            "queue": self._queue.state(running),
            "control": {"paused": control.paused, "stopped": control.stopped},
            "run": {"totals": self._table.totals(summary), **self.about(), **self._standing(summary)},
            "end": ended,
        }

    def _lanes(self) -> dict[str, Any]:
        flights = [flight.as_json() for flight in self._flights]
        processes = self._queue.processes
        busy = dict.fromkeys(flight.worker for flight in self._flights)
        expected = dict.fromkeys(f"gw{number}" for number in range(processes))
        names = list(busy | expected)[: max(processes, len(busy))] or ["main"]  # a dead one is replaced
        return {"workers": sorted(names, key=natural), "lanes": self._queue.lanes, "flights": flights}

    def about(self) -> dict[str, Any]:
        """Return what a page says of the run itself."""
        if not self._about.get("facts", {}).get("Browser"):  # the manifest is written with the first browser
            store, manifest = self.watched.store, self.run.read_manifest()
            self._about = about_run(manifest, store.root.name, None)
            self._about["resumes"] = resumes_of(store.root, manifest)
            config = manifest.get("config")
            # A number; of a run in rounds, nobody knows beforehand how many there will be.
            self._about["in_rounds"] = isinstance(config, dict) and isinstance(config.get("trials"), dict)
        return self._about

    def _standing(self, summary: RunSummary) -> dict[str, Any]:
        """Return what the viewer shows beyond single verdicts; repeats only once all trials are there."""
        is_over = self._queue.exit_code is not None
        return {
            "repeats": repeats_of(summary) if is_over else None,
            "quarantine": quarantine_of(self.run.find_gate(), summary),
        }

    def data(self) -> dict[str, Any]:
        """Return the data of a new page: the viewer's, and how things stand besides."""
        self.catch_up()
        live = {
            "last": len(self._changed),
            "now_ms": round(time.time() * 1000),
            "states": self.states,
            "folder": str(self.watched.store.root.resolve()),
        }
        summary = self.run.sum_up_lines()
        return {
            "run": {**self.about(), "home": "", "details": ""},
            "totals": self._table.totals(summary),
            **self._table.as_json(),
            **self._standing(summary),
            "live": live,
        }

    # -- pages

    def news(self, last: int) -> dict[str, Any]:
        """Return the rows that have changed since, each once, and how things stand.

        Args:
            last: how many changes a page has seen.
        """
        self.asked_at = time.monotonic()
        self.catch_up()
        rows = [self._table.plain(row) for row in self._changed[last:]]
        newest = {row["key"]: row for row in rows}
        return {"last": len(self._changed), "rows": list(newest.values()), "states": self.states}
