"""Running ahead: while one item waits, the attempts of the items behind it run in the other lanes.

Items keep pytest's order and protocol. Nothing overtakes a row that has a function-scoped fixture of a
conftest, nor one whose wider fixtures are not up yet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_browsereval.errors import (
    BrowserEvalError,
    CalledOff,
    ErrorSource,
    Fault,
    OverBudget,
    RunStopped,
    describe_error,
)
from pytest_browsereval.hooks.items import EvalItem, Unmade
from pytest_browsereval.hooks.order import Trial, find_related, key_of, list_groups, needs_of, relations_of
from pytest_browsereval.hooks.share import Share, count_lanes
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.blame import note_death
from pytest_browsereval.run.lanes import Lanes, LoopLost
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.relations import groups
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import AttemptRecord

if TYPE_CHECKING:
    from pytest_browsereval.hooks.session import EvalSession

UNMADE: dict[type[BrowserEvalError], Unmade] = {OverBudget: "budget", CalledOff: "dashboard"}
"""What a report says of why an attempt was not made."""

CLOSE_GRACE_S = 5.0
"""How long windows, browsers and sites may take to close before they are left to the operating system."""

AHEAD = 64
"""How many attempts of a lane may be over before the item comes up that is in front of them."""

WAITING = 4
"""How many attempts of a lane are at work or wait for it."""


class Prefetch:
    """Starts attempts ahead of the item that is up, and hands each item its own."""

    def __init__(self, session: EvalSession) -> None:
        self.session = session
        option = session.config.option
        self._maxfail: int = 1 if getattr(option, "stepwise", False) else option.maxfail
        self._bad = 0  # failed and errored attempts that are known, reported or not
        self._up: EvalItem | None = None
        self._surroundings = session.surroundings
        self._blocked: dict[EvalItem, LoopLost] = {}
        self._cut_off: dict[str, ActiveRun] = {}
        """What was in flight on the loop that was lost last, by the items."""
        self._lanes: Lanes | None = None
        self.sessions: dict[ActiveRun, Session] = {}
        """What the attempts of each run share in this process, once one is to be made."""
        self._entries: dict[ActiveRun, list[Entry]] = {}
        """The trials of the session's items, in all processes."""
        self._verdicts: dict[Trial, Verdict] = {}
        """Of trials that this process has made and others wait for, by their keys."""
        self._selected: frozenset[Trial] = frozenset()
        """Keys of the trials that others may have to wait for."""
        self._relating: list[EvalItem] = []
        """Items that may have to do with others."""
        self._unmade: dict[Trial, type[OverBudget] | type[CalledOff]] = {}
        """Keys of trials that were not made since the budget is used up, or someone has called them off."""
        self._why_stopped = ""
        """The row that has stopped the run, and why."""
        self._is_changed = False
        """Whether more can be started than when the rows behind were looked at."""
        self.share = Share(session.config, self._look_again)

    # -- lanes

    @property
    def lanes(self) -> Lanes:
        """The lanes of this process; as many as the config with the most lanes asks for."""
        if self._lanes is None:
            configs = [run.config for run in self.session.runs.values()]
            self._lanes = Lanes(
                max((count_lanes(one, self.share.processes) for one in configs), default=1),
                stuck_s=max((one.limits.stuck_s for one in configs), default=10),
                may_start=self._may_start,
                on_lost=self._forget,
            )
        return self._lanes

    def session_of(self, active_run: ActiveRun) -> Session:
        """Return what a run's attempts share in this process."""
        if active_run not in self.sessions:
            entries = filter(active_run.choice.is_wanted, self._entries.get(active_run, ()))
            self.sessions[active_run] = Session(active_run, entries)
        return self.sessions[active_run]

    def _may_start(self) -> bool:
        expected = all(e.config.are_rows_expected for e in self.session.runs.values())
        return not self._maxfail or expected or self._bad < self._maxfail

    def _forget(self) -> None:
        self._cut_off = {
            flight.node_id: run for run, session in self.sessions.items() for flight in session.forget()
        }

    # -- an item is up

    def result_of(self, item: EvalItem) -> AttemptRecord:
        """Return the item's outcome, having run its attempt unless that ran ahead already.

        Raises:
            RunStopped: the run was stopped before it could start.
            StoreError: the run folder cannot be written.
        """
        # A plug-in may run an item again that has a result already, and must not.
        if item.was_judged and (judged := item.active_run.store.last_result(item.entry.key)) is not None:
            return judged
        if self._why_stopped and not self.lanes.has_result(item):
            self._skip_stopped(item)
        try:  # what is raised instead of an outcome is counted, so that no row is lost
            return self._settle(item, self._outcome(item))
        except RunStopped as stop:
            self._stop(item, str(stop))
            if not self.session_of(item.active_run).has_started:
                raise
            self._skip_stopped(item)
        except (OverBudget, CalledOff) as unmade:
            item.unmade = UNMADE[type(unmade)]
            self._unmade[key_of(item)] = type(unmade)
            pytest.skip(f"{item.unmade}: {unmade}")
        except OSError as error:  # all that comes after it would be paid for and lost as well
            unwritten = StoreError(item.active_run.store.root, error)
            self.session_of(item.active_run).stop(str(unwritten))
            self._stop(item, str(unwritten))
            raise unwritten from error
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
            raise
        except (pytest.skip.Exception, pytest.xfail.Exception) as error:  # it would hide the row
            return self._settle(item, self._record_error(item, describe_error(error)))
        except BaseException as error:
            with contextlib.suppress(OSError):  # a time-out plug-in, say: counted, not lost
                self._record_error(item, f"given up: {type(error).__name__}: {error}")
            raise

    def _settle(self, item: EvalItem, outcome: AttemptRecord) -> AttemptRecord:
        """Stop the session where the outcome of an item is one that every further attempt would come to."""
        if outcome.metadata.stops_run:
            self._stop(item, outcome.metadata.reason)
        elif self._why_stopped:
            self._end(item)
        item.was_judged = outcome.metadata.verdict is not Verdict.ERRORED
        return outcome

    def _stop(self, item: EvalItem, why: str) -> None:
        if self.session.is_worker:
            has_started = self.session_of(item.active_run).has_started
            key = "browsereval_stopped" if has_started else "browsereval_problems"
            item.config.workeroutput[key] = why  # type: ignore[attr-defined]
        self._why_stopped = self._why_stopped or f"{item.nodeid}: {why.splitlines()[0]}"
        self._end(item)

    def _end(self, item: EvalItem) -> None:
        """End a session that is stopped once all is reported that has ended ahead."""
        if not self.lanes.has_results():
            item.session.shouldfail = item.session.shouldfail or self._why_stopped

    def _skip_stopped(self, item: EvalItem) -> NoReturn:
        item.unmade = "stopped"
        self._end(item)
        pytest.skip(f"stopped: {self._why_stopped}")

    def _outcome(self, item: EvalItem) -> AttemptRecord:
        if (blocking := self._blocked.pop(item, None)) is not None:
            return self._record_error(item, str(blocking), blocking.source)
        for key in needs_of(item) if self._unmade else ():
            if (kind := self._unmade.get(key)) is not None:
                raise kind("what it depends on was not run")
        if unmet := self._unmet(item):
            return self._record_error(item, unmet)
        self._up = item
        for _ in range(2):
            self.lanes.want(item, self._attempt(item), groups=_groups(item), must=True)
            self._look_ahead(item)
            try:
                return self.lanes.take(item, lambda: self._tick(item))  # type: ignore[no-any-return]
            except CancelledError:  # held back after -x, yet it came up; or another attempt cancels all tasks
                continue
            except LoopLost as lost:
                # A bystander, as far as is known: once more, on a new loop.
                return self._blame(item, lost) or self._outcome(item)
        why = "its task was cancelled twice, by its own code or by that of an attempt alongside it"
        return self._record_error(item, why)

    def _blame(self, item: EvalItem, lost: LoopLost) -> AttemptRecord | None:
        """Note who has lost the loop; returns what the item that is up has come to, if it has no try left."""
        if lost.culprit is item:
            return self._record_error(item, str(lost), lost.source)
        if isinstance(lost.culprit, EvalItem):
            self._blocked[lost.culprit] = lost
            return None
        at_work, what = {item.nodeid: item.active_run, **self._cut_off}, f"the event loop was lost ({lost})"
        note_death(self.sessions, at_work, what, is_known=len(at_work) == 1)
        run, key = item.active_run, item.entry.key
        return run.store.last_result(key) if run.deaths.is_spent(key) else None

    def _unmet(self, item: EvalItem) -> str:
        """Return why an item cannot be run for what it depends on; "" if it can."""
        for key in needs_of(item):
            verdict = self._verdicts.get(key) or item.active_run.store.verdict(key[1])
            if key in self._selected and verdict is not Verdict.PASSED:  # others are shown before the first
                came_to = verdict or "has no result"
                return f"it depends on {key[1].query_id!r}, which {came_to}: it was not run"
        return ""

    def _waits(self, item: EvalItem) -> bool:
        return (isinstance(item, EvalItem) and not item.active_run.choice.is_wanted(item.entry)) or any(
            key in self._selected and self._verdicts.get(key) is not Verdict.PASSED for key in needs_of(item)
        )

    def _note(self, item: EvalItem, verdict: Verdict) -> None:
        if (key := key_of(item)) in self._selected:
            self._verdicts[key] = verdict
            self._look_again()

    def _record_error(
        self, item: EvalItem, why: str, source: ErrorSource = ErrorSource.HARNESS
    ) -> AttemptRecord:
        fault = Fault(source, why)
        record = item.active_run.trials.record_fault(item.entry, item.nodeid, fault)
        self._note(item, record.metadata.verdict)
        return record

    # -- what runs alongside it

    def _look_ahead(self, item: EvalItem) -> None:
        for other in self._startable(item):
            self.lanes.want(other, self._attempt(other), groups=_groups(other))

    def _startable(self, item: EvalItem) -> Iterator[EvalItem]:
        if self._surroundings.is_alone(item) or _is_suspect(item):
            return
        width = self.lanes.width
        ahead, room = width * (1 if self._maxfail else AHEAD) - 1, width * WAITING - 1
        for other in self.share.behind(item):
            if ahead <= 0 or room <= 0:
                return
            if other in self.lanes:
                ahead -= 1
                room -= not self.lanes.has_result(other)
                continue
            if not isinstance(other, EvalItem) or other in self._blocked or self._waits(other):
                continue  # an ordinary test takes no lane
            if not self._surroundings.are_shared(item, other) or _is_suspect(other):
                return  # nothing overtakes a row that is particular about what is up
            ahead, room = ahead - 1, room - 1
            yield other

    def _attempt(self, item: EvalItem) -> Callable[[], Coroutine[Any, Any, AttemptRecord]]:
        session = self.session_of(item.active_run)  # not on the loop: two threads might make two

        async def attempt() -> AttemptRecord:
            outcome, trials = self._find_judged(item), item.active_run.trials
            if outcome is None:
                try:
                    outcome = await trials.make(session, item.entry, item.nodeid)
                except Fault as fault:  # before the attempt could begin
                    outcome = trials.record_fault(item.entry, item.nodeid, fault)
            verdict = outcome.metadata.verdict
            self._bad += verdict is not Verdict.PASSED
            self._note(item, verdict)
            if item is not self._up and not self._maxfail:
                self.share.report_over(item)
            self._look_again()
            return outcome

        return attempt

    def _find_judged(self, item: EvalItem) -> AttemptRecord | None:
        """Return what was judged before: a new attempt would be paid for again.

        By a worker that has died and did not report it, or by an earlier session of the run.
        """
        is_first, item.was_begun = not item.was_begun, True  # plug-ins that run items again want new ones
        if not is_first or not (item.active_run.deaths.has_any() or item.active_run.trials.has_earlier):
            return None
        tied, done = self._tied_items
        if item in tied and item not in done:
            return None  # others rest on the state that it leaves, and that may be gone too
        item.active_run.store.writer.believe(self.share.believed)
        found = item.active_run.trials.find_judged(item.entry)
        item.was_resumed = found is not None and item.active_run.trials.has_earlier
        if found is None or not item.was_resumed:
            return found
        # What stopped that session is over.
        return replace(found, metadata=found.metadata.model_copy(update={"stops_run": False}))

    @cached_property
    def _tied_items(self) -> tuple[frozenset[EvalItem], frozenset[EvalItem]]:
        """Items that rest on others, and those of them that are done; as it was before the first attempt."""
        tied, done = set[EvalItem](), set[EvalItem]()
        for places in groups([relations_of(item) for item in self._relating]):
            group = [self._relating[place] for place in places]
            if len(group) > 1:
                tied.update(group)
                # All of them have results, else the state that one rests on may be gone.
                trials = [(one.active_run.trials, one.entry) for one in group]
                if all(owner.has_earlier and owner.find_judged(entry) for owner, entry in trials):
                    done.update(group)
        return frozenset(tied), frozenset(done)

    def _tick(self, item: EvalItem) -> None:
        if self.share.is_stopped():  # execnet takes five seconds to pass Ctrl-C on
            raise KeyboardInterrupt
        if self._is_changed:
            self._is_changed = False
            self._look_ahead(item)

    def _look_again(self) -> None:
        """Have the rows behind the one that is up looked at again; called in any thread."""
        self._is_changed = True
        if self._lanes is not None:
            self._lanes.wake()

    # -- pytest's hooks

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the final order, no matter what has shuffled or deselected."""
        for item in session.items:
            if isinstance(item, EvalItem):
                self._entries.setdefault(item.active_run, []).append(item.entry)
        self.share.take(session.items)
        self._relating = find_related(session.items)
        needed = {key for item in self._relating for key in needs_of(item)}
        made = {key_of(item) for item in session.items if isinstance(item, EvalItem)} if needed else set()
        self._selected = frozenset(needed & made)

    def end_attempts(self) -> None:
        """Cancel what runs ahead, and wait until it has ended."""
        if self._lanes is not None:
            self._lanes.end(CLOSE_GRACE_S)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Close browsers and sites, then the loop, each with a deadline."""
        if self._lanes is None:
            return
        lanes, self._lanes = self._lanes, None

        async def last() -> None:
            for session in self.sessions.values():
                await session.close()
            await close_clients()

        lanes.close(CLOSE_GRACE_S, last)
        if self.session.is_worker:
            unclosed = [problem for one in self.sessions.values() for problem in one.unclosed]
            self.session.config.workeroutput["browsereval_unclosed"] = unclosed  # type: ignore[attr-defined]

    pytest_unconfigure = pytest_sessionfinish  # what is still open after an internal error


class StoreError(BrowserEvalError):
    """The run folder cannot be written."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(
            f"the run folder {folder} cannot be written: {error}. Free some space or name another place "
            "with --eval-output=DIR. What finished before is kept."
        )


def _is_suspect(item: EvalItem) -> bool:
    return item.active_run.deaths.is_suspect(item.entry.key)


def _groups(item: pytest.Item) -> set[str]:
    """Return the names of what an attempt has to itself: its ``xdist_group``, and sites that it shares."""
    return {f"group {name}" for name in list_groups(item)} | relations_of(item).locks
