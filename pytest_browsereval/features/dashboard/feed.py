"""Events of a running run for the dashboard, read from its folder while a page is open.

There are two kinds. What happens (messages, changed attempts) is numbered, and a page that reconnects gets
the events it missed. How things stand (lanes, queue, figures) is sent whole whenever it changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.door import Door
from pytest_browsereval.features.dashboard.flights import Flights, messages_of
from pytest_browsereval.features.dashboard.queue import Queue, Trial
from pytest_browsereval.report.viewer.attempts import (
    StoredAttempt,
    attempts_of,
    iter_attempts,
    read_attempt,
)
from pytest_browsereval.report.viewer.rows import Table, about_run
from pytest_browsereval.report.viewer.standing import quarantine_of, repeats_of, resumes_of
from pytest_browsereval.run.control import Control
from pytest_browsereval.run.store import RunStore, TrialKey

# The folder is read only while a page is open.
POLL_S = 0.25

# Without a line from time to time, neither side notices that a connection is dead.
PING_S = 15.0

# Kept for pages that reconnect. A page that missed more loads itself again.
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


@dataclass(frozen=True, slots=True)
class Event:
    """An event."""

    number: int
    kind: str
    text: str
    """JSON without a line end."""


class Feed:
    """The events of one run. Only the server's loop may use it.

    Args:
        watched: the run.
    """

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self.states: dict[str, tuple[int, str]] = {}
        """How things stand, as JSON by their names, each with a number that grows when it changes."""
        self._life = secrets.token_hex(4)
        self._tasks = watched.store.root / "tasks"
        self._table = Table()
        self._known: set[str] = set()
        # The last stored attempt of each trial that was not seen to run, by keys.
        self._stored: dict[str, str] = {}
        self._has_scanned = False
        self._flights = Flights(watched.store.root)
        self._queue = Queue(watched.store, watched.control.session)
        self._about: dict[str, Any] = {}
        self._number = 0
        self._changes = 0
        self._watchers = 0
        self._polling: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    # -- looking at the folder

    def catch_up(self) -> None:
        """Read what is new in the folder."""
        over = self._queue.look()
        begun, ended = self._flights.look()
        if not self._has_scanned:
            self._has_scanned = True  # what comes from now on is news, however short it is there
            self._scan({flight.key for flight in self._flights})
        for flight in begun:
            trial = self._queue.trials.get(flight.node_id)
            self._take_tries(tuple(flight.key.split("/"))[:-1], trial)
            if flight.key not in self._known:  # else it is graded again: its row stays until then
                self._tell_unfinished(flight.folder, flight.key, trial)
        for flight in self._flights:
            self._tell_all("message", flight.look())
        for flight in ended:
            self._tell_all("message", flight.look())
            attempt = read_attempt(self.watched.door, self.watched.store, flight.key)
            self._take(attempt)
            if attempt.metadata is not None:
                self._queue.made.add(TrialKey.of(attempt.metadata))
        for done in over:
            parts = self.watched.store.trial_folder(done.key).relative_to(self._tasks).parts
            self._take_tries(parts, done)
            # The last attempt of a finished trial that was not seen may have been graded again.
            if (key := self._stored.get("/".join(parts))) is not None:
                self._take(read_attempt(self.watched.door, self.watched.store, key))
        self._stand()

    def _scan(self, in_flight: set[str]) -> None:
        """Read the attempts from before the first page: a new page has them from the start."""
        for attempt in iter_attempts(self.watched.door, self.watched.store):
            if attempt.key not in in_flight:
                self._table.add(attempt)
                if attempt.metadata is not None or attempt.problem:  # else it may have begun just now
                    self._known.add(attempt.key)
                    self._stored[attempt.key.rpartition("/")[0]] = attempt.key
                if attempt.metadata is not None and attempt.metadata.started_at >= (
                    self._queue.began_at or "~"
                ):
                    self._queue.made.add(TrialKey.of(attempt.metadata))

    def _tell_unfinished(self, folder: str, key: str, trial: Trial | None) -> None:
        query_id, query = (trial.key.query_id, trial.query) if trial else ("", "")
        attempt = StoredAttempt(folder, key, None, "")
        self._tell_rows(self._table.add(attempt, query_id=query_id, query=query))

    def _take_tries(self, parts: tuple[str, ...], trial: Trial | None) -> None:
        """Read attempts of a trial that began and ended between two looks."""
        flying = {flight.key for flight in self._flights}
        for attempt in attempts_of(
            self.watched.door, self.watched.store, parts, besides=self._known | flying
        ):
            if self._watchers:
                self._tell_unfinished(attempt.folder, attempt.key, trial)
                self._tell_all("message", messages_of(attempt.folder, attempt.key))
            self._take(attempt)

    def _take(self, attempt: StoredAttempt) -> None:
        self._stored.pop(attempt.key.rpartition("/")[0], None)
        self._table.drop_unfinished(attempt.key)
        self._known.add(attempt.key)
        self._tell_rows(self._table.add(attempt))

    # -- news

    def _tell_rows(self, rows: Iterable[list[Any]]) -> None:
        self._tell_all("rows", [[self._table.plain(row) for row in rows]])

    def _tell_all(self, kind: str, news: Iterable[Any]) -> None:
        for one in news:
            self._number += 1
            self.events.append(Event(self._number, kind, _as_json(one)))
            self._is_news()

    def _stand(self) -> None:
        """Record how things stand, and what of it has changed."""
        control = self.watched.control.read_state()
        running = {flight.node_id for flight in self._flights}
        self._note("lanes", self._lanes())
        self._note("queue", self._queue.state(running, control))
        self._note("control", {"paused": control.paused, "stopped": control.stopped})
        self._note("run", {"totals": self._table.totals(), **self.about(), **self._standing()})
        ended = {"exit_code": self._queue.exit_code, "why": self._queue.why, "at": self._queue.ended_at}
        self._note("end", ended)

    def _note(self, name: str, state: Any) -> None:
        text = _as_json(state)
        if self.states.get(name, (0, ""))[1] != text:
            self._changes += 1
            self.states[name] = (self._changes, text)
            self._is_news()

    def _is_news(self) -> None:
        """Wake all pages up. Each waits for the event that was current when it began to wait."""
        news, self._news = self._news, asyncio.Event()
        news.set()

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
            store, manifest = self.watched.store, self.watched.store.run.read_manifest()
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
            "quarantine": quarantine_of(self.watched.store.run.find_gate(), trials),
        }

    def data(self) -> dict[str, Any]:
        """Return the data of a new page: the viewer's, and how things stand beside it."""
        self.catch_up()
        messages = [event for event in self.events if event.kind == "message"]
        live = {
            "last": self._name_of(self._number),
            "now_ms": round(time.time() * 1000),
            "states": {name: json.loads(text) for name, (_, text) in self.states.items()},
            "messages": [json.loads(event.text) for event in messages[-SHOWN_AT_FIRST:]],
            "folder": str(self.watched.store.root.resolve()),
        }
        rows = self._table.as_json({**self.about(), "home": "", "details": ""})
        return {**rows, **self._standing(), "live": live}

    # -- pages

    def _name_of(self, number: int) -> str:
        return f"{self._life}-{number}"

    def list_missed(self, last: str) -> list[Event] | None:
        """Return the events after one that a page names; None if they are no longer kept."""
        life, _, digits = last.partition("-")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 15 else -1
        first = self.events[0].number if self.events else self._number + 1
        if life != self._life or not first - 1 <= number <= self._number:
            return None
        return [event for event in list(self.events) if event.number > number]

    async def stream(self, last: str) -> AsyncIterator[str]:
        """Yield server-sent events for a page until the run has ended.

        Args:
            last: the name of the last event that it has seen.
        """
        seen: dict[str, int] = {}
        with self._watching():
            while True:
                # All of it as it is now: what comes while a page is slow to take this has its turn after it.
                news, is_over = self._news, self._queue.exit_code is not None
                events, states = self.list_missed(last), list(self.states.items())
                if events is None:
                    yield _frame("anew", "{}")
                    return
                for event in events:
                    last = self._name_of(event.number)
                    yield _frame(event.kind, event.text, last)
                for name, (version, text) in states:
                    if seen.get(name) != version:
                        seen[name] = version
                        yield _frame(name, text)
                if is_over:
                    return
                try:
                    await asyncio.wait_for(news.wait(), PING_S)
                except TimeoutError:
                    yield ": all is well\n\n"

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        self._watchers += 1
        if self._polling is None:
            self._polling = asyncio.get_running_loop().create_task(self._poll())
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._polling.cancel()
                self._polling = None

    async def _poll(self) -> None:
        while True:
            try:
                self.catch_up()
            except Exception as error:  # noqa: BLE001 a page must not stand still as if nothing went on
                self._note("problem", {"text": f"{type(error).__name__}: {error}"})
            await asyncio.sleep(POLL_S)


def _frame(kind: str, text: str, name: str = "") -> str:
    number = f"id: {name}\n" if name else ""
    return f"{number}event: {kind}\ndata: {text}\n\n"


def _as_json(value: Any) -> str:
    """Return plain values as JSON in one line: a line break would end an event of the stream."""
    return json.dumps(value, separators=(",", ":"))


def _by_number(worker: str) -> tuple[str, int]:
    name = worker.rstrip("0123456789")
    return name, int(worker[len(name) :] or 0)
