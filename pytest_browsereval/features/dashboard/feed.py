"""Events of a running run for the dashboard, read from its folder while a page is open.

There are two kinds. What happens (messages, changed attempts) is numbered, and a page asks for what came
after the last one that it has. How things stand (lanes, queue, figures) it gets whole.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.features.dashboard.flights import Flights, messages_of
from pytest_browsereval.features.dashboard.queue import Queue
from pytest_browsereval.report.viewer.attempts import ShownAttempt, iter_attempts, read_attempt
from pytest_browsereval.report.viewer.rows import Table, about_run
from pytest_browsereval.report.viewer.standing import quarantine_of, repeats_of, resumes_of
from pytest_browsereval.run.control import Control
from pytest_browsereval.run.store import RunStore, TrialKey
from pytest_browsereval.runs.attempt import StoredAttempt, find_place
from pytest_browsereval.runs.run import StoredRun

# Kept for pages that are slow. A page that missed more loads itself again.
MOST_EVENTS = 2000

# Events that a new page gets.
SHOWN_AT_FIRST = 100


@dataclass(frozen=True)
class Watched:
    """A running run."""

    name: str
    store: RunStore
    control: Control
    door: Door


class Feed:
    """The events of one run. Only the server's loop may use it.

    Args:
        watched: the run.
    """

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.run = StoredRun(watched.store.root, watched.door)
        self.events: deque[tuple[str, Any]] = deque(maxlen=MOST_EVENTS)
        """The last events: of what kind, and what."""
        self.states: dict[str, Any] = {}
        """How things stand, by their names."""
        self.asked_at = 0.0
        """When a page has last asked, by the monotonic clock."""
        self._life = secrets.token_hex(4)
        self._table = Table()
        self._has_scanned = False
        self._revisions: dict[str, int] = {}
        """The line of each attempt that was read, by keys."""
        self._seen: set[str] = set()
        """Attempts that were seen in flight, or told in full."""
        self._flights = Flights(watched.store.root)
        self._queue = Queue(watched.store, watched.control.session)
        self._about: dict[str, Any] = {}
        self._number = 0
        """How many events there were."""

    # -- looking at the folder

    def catch_up(self) -> None:
        """Read what is new in the folder."""
        self._queue.look()
        begun, ended = self._flights.look()
        if not self._has_scanned:
            self._has_scanned = True
            self._scan({flight.key for flight in self._flights})
        for flight in begun:
            self._seen.add(flight.key)
            if flight.key not in self._revisions:  # else it is graded again: its row stays until then
                trial = self._queue.trials.get(flight.node_id)
                query_id, query = (trial.key.query_id, trial.query) if trial else ("", "")
                attempt = ShownAttempt(flight.folder, flight.key, None, "")
                self._tell_rows(self._table.add(attempt, query_id=query_id, query=query))
        for flight in (*self._flights, *ended):
            self._tell_all("message", flight.look())
        lines = self.run.update_lines()
        for data in [data for trial in lines.trials for data in lines.list_tries(trial)]:
            self._take_line(data)
        for flight in ended:
            if flight.key not in self._revisions:  # given up
                self._take(read_attempt(self.run, flight.key))
        self._stand()

    def _scan(self, in_flight: set[str]) -> None:
        """Read the attempts from before the first page: a new page has them from the start."""
        for attempt in iter_attempts(self.run):
            data = attempt.metadata
            if data is not None or attempt.key not in in_flight:
                self._table.add(attempt)
            if data is not None:
                self._seen.add(attempt.key)
                self._revisions[attempt.key] = data.revision
                if data.started_at >= (self._queue.began_at or "~"):
                    self._queue.made.add(TrialKey.of(data))

    def _take_line(self, data: StoredAttempt) -> None:
        """Add the record of an attempt if it is new, with its messages if it was not seen in flight."""
        key = find_place(data).partition("/")[2]
        if self._revisions.get(key) == data.revision:
            return
        self._revisions[key] = data.revision
        self._queue.made.add(TrialKey.of(data))
        attempt = read_attempt(self.run, key)
        self._take(attempt)
        if key not in self._seen:
            self._seen.add(key)
            self._tell_all("message", messages_of(attempt.folder, key))

    def _take(self, attempt: ShownAttempt) -> None:
        self._table.drop_unfinished(attempt.key)
        self._tell_rows(self._table.add(attempt))

    # -- news

    def _tell_rows(self, rows: Iterable[list[Any]]) -> None:
        self._tell_all("rows", [[self._table.plain(row) for row in rows]])

    def _tell_all(self, kind: str, news: Iterable[Any]) -> None:
        for one in news:
            self._number += 1
            self.events.append((kind, one))

    def _stand(self) -> None:
        """Record how things stand."""
        control = self.watched.control.read_state()
        running = {flight.node_id for flight in self._flights}
        ended = {"exit_code": self._queue.exit_code, "why": self._queue.why, "at": self._queue.ended_at}
        self.states = {
            "lanes": self._lanes(),
            "queue": self._queue.state(running, control),
            "control": {"paused": control.paused, "stopped": control.stopped},
            "run": {"totals": self._table.totals(), **self.about(), **self._standing()},
            "end": ended,
        }

    def _lanes(self) -> dict[str, Any]:
        flights = [flight.as_json() for flight in self._flights]
        processes = self._queue.processes
        expected = (f"gw{number}" for number in range(processes))
        busy = {flight.worker for flight in self._flights}
        known = dict.fromkeys((*reversed(self._flights.workers), *expected))
        idle = [name for name in known if name not in busy]
        names = [*busy, *idle[: max(processes - len(busy), 0)]] or ["main"]
        return {"workers": sorted(names, key=_by_number), "lanes": self._queue.lanes, "flights": flights}

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

    def _standing(self) -> dict[str, Any]:
        """Return what the viewer shows beyond single verdicts; repeats only once all trials are there."""
        is_over = self._queue.exit_code is not None
        trials = list(self._table.trials())
        return {
            "repeats": repeats_of(trials) if is_over else None,
            "quarantine": quarantine_of(self.run.find_gate(), trials),
        }

    def data(self) -> dict[str, Any]:
        """Return the data of a new page: the viewer's, and how things stand beside it."""
        self.catch_up()
        messages = [news for kind, news in self.events if kind == "message"]
        live = {
            "last": f"{self._life}-{self._number}",
            "now_ms": round(time.time() * 1000),
            "states": self.states,
            "messages": messages[-SHOWN_AT_FIRST:],
            "folder": str(self.watched.store.root.resolve()),
        }
        rows = self._table.as_json({**self.about(), "home": "", "details": ""})
        return {**rows, **self._standing(), "live": live}

    # -- pages

    def news(self, last: str) -> dict[str, Any] | None:
        """Return what came after an event, and how things stand; None if that event is not kept.

        Args:
            last: the name of the last event that a page has seen.
        """
        self.asked_at = time.monotonic()
        self.catch_up()
        life, _, digits = last.partition("-")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 15 else -1
        missed = self._number - number
        if life != self._life or not 0 <= missed <= len(self.events) or number < 0:
            return None
        events = list(self.events)[len(self.events) - missed :]
        return {"last": f"{life}-{self._number}", "events": events, "states": self.states}


def _by_number(worker: str) -> tuple[str, int]:
    name = worker.rstrip("0123456789")
    return name, int(worker[len(name) :] or 0)
