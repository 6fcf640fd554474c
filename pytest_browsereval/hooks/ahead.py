"""Running ahead: while one item waits, the attempts of the items behind it run in the other lanes.

Items keep pytest's order and protocol. Nothing overtakes a row that has a function-scoped fixture of a
conftest, nor one whose wider fixtures are not up yet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import BrowserEvalError, ErrorSource, Fault, RunStopped
from pytest_browsereval.hooks.behaviour import HOW_TO_SKIP
from pytest_browsereval.hooks.items import EvalItem, fixture_scopes
from pytest_browsereval.hooks.session import CLOSE_GRACE_S, EvalSession
from pytest_browsereval.hooks.share import Share
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.lanes import Lanes, LoopLost

Outcome = tuple[TaskMetadata, Path]


class Ahead:
    """Starts attempts ahead of the item that is up, and hands each item its own."""

    def __init__(self, session: EvalSession) -> None:
        self.session = session
        option = session.config.option
        self._maxfail: int = 1 if getattr(option, "stepwise", False) else option.maxfail
        self._bad = 0  # failed and errored attempts that are known, reported or not
        self._share = Share(session.config)
        self._blocked: dict[EvalItem, str] = {}
        self._lost: set[EvalItem] = set()
        self._lanes: Lanes | None = None

    # -- lanes

    @property
    def lanes(self) -> Lanes:
        """The lanes of this process; as many as the config with the most lanes asks for."""
        if self._lanes is None:
            widths = [
                self._width(e.config.lanes, e.config.num_workers) for e in self.session.evaluations.values()
            ]
            self._lanes = Lanes(
                max(widths, default=1),
                stuck_s=max((e.config.limits.stuck_s for e in self.session.evaluations.values()), default=10),
                may_start=self._may_start,
                on_lost=self._forget,
            )
        return self._lanes

    def _width(self, lanes: int, num_workers: int | None) -> int:
        if num_workers is None:
            return lanes
        processes = self._share.processes
        return -(-num_workers // processes)

    def _may_start(self) -> bool:
        gated = all(e.config.is_gated for e in self.session.evaluations.values())
        return not self._maxfail or gated or self._bad < self._maxfail

    def _forget(self) -> None:
        for evaluation in self.session.evaluations.values():
            evaluation.forget()

    # -- an item is up

    def result_of(self, item: EvalItem) -> Outcome:
        """Return the item's outcome, having run its attempt unless that ran ahead already.

        Raises:
            RunStopped: the run was stopped before it could start.
            StoreError: the run folder cannot be written.
        """
        try:
            outcome = self._outcome(item)
        except RunStopped as stop:
            self._stop(item, str(stop))
            raise
        except OSError as error:  # whatever comes after it would be paid for and lost as well
            told = StoreError(item.evaluation.store.root, error)
            item.evaluation.stopped = str(told)
            self._stop(item, str(told))
            raise told from error
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
            raise
        except pytest.skip.Exception as skipped:  # by the agent: an errored row that shows as skipped is lost
            outcome = self._errored(item, f"pytest.skip() in an attempt: {skipped.msg}. {HOW_TO_SKIP}.")
        except BaseException as error:
            with contextlib.suppress(OSError):  # a time-out plug-in, say: counted, not lost
                self._errored(item, f"given up: {type(error).__name__}: {error}")
            raise
        if outcome[0].stops_run:
            self._stop(item, outcome[0].reason)
        return outcome

    def _stop(self, item: EvalItem, why: str) -> None:
        if self.session.is_worker:
            key = "browsereval_stopped" if item.evaluation.has_started else "browsereval_problems"
            item.config.workeroutput[key] = why  # type: ignore[attr-defined]
        item.session.shouldfail = item.session.shouldfail or f"{item.nodeid}: {why.splitlines()[0]}"

    def _outcome(self, item: EvalItem) -> Outcome:
        if item in self._blocked:
            return self._errored(item, self._blocked.pop(item))
        self._fill(item)
        try:
            return self._take(item)
        except LoopLost as lost:
            if lost.culprit is item or (lost.culprit is None and item in self._lost):
                return self._errored(item, str(lost))
            self._lost.add(item)
            if isinstance(lost.culprit, EvalItem):
                self._blocked[lost.culprit] = str(lost)
            return self._outcome(item)  # a bystander, as far as is known: once more, on a new loop

    def _take(self, item: EvalItem) -> Outcome:
        try:
            return self.lanes.take(item, lambda: self._tick(item))  # type: ignore[no-any-return]
        except CancelledError:  # held back after -x, yet it came up: its failure was expected, say
            self.lanes.want(item, self._attempt(item), must=True)
            return self.lanes.take(item, lambda: self._tick(item))  # type: ignore[no-any-return]

    def _errored(self, item: EvalItem, why: str) -> Outcome:
        fault = Fault(ErrorSource.HARNESS, why)
        metadata, folder = item.evaluation.record_fault(item.entry, item.nodeid, fault)
        return metadata, folder.path

    # -- what runs beside it

    def _fill(self, item: EvalItem) -> None:
        for other in self._wanted(item):
            self.lanes.want(other, self._attempt(other), group=_group(other), must=other is item)

    def _wanted(self, item: EvalItem) -> Iterator[EvalItem]:
        yield item
        up, has_own = fixture_scopes(item)
        suspects = self._share.suspects()
        if has_own or item.nodeid in suspects:
            return
        room = self.lanes.width * (1 if self._maxfail else 4) - 1
        for other in self._share.behind(item):
            if room <= 0:
                return
            if not isinstance(other, EvalItem) or other in self._blocked:
                continue  # an ordinary test takes no lane
            wider, has_own = fixture_scopes(other)
            if has_own or not wider <= up or other.nodeid in suspects:
                return  # nothing overtakes a row that is particular about what is up
            room -= 1
            yield other

    def _attempt(self, item: EvalItem) -> Callable[[], Coroutine[Any, Any, Outcome]]:
        async def attempt() -> Outcome:
            try:
                metadata, folder = await item.evaluation.trial(item.entry, item.nodeid)
            except Fault as fault:  # before the attempt could begin
                metadata, folder = item.evaluation.record_fault(item.entry, item.nodeid, fault)
            self._bad += metadata.verdict is not Verdict.PASSED
            return metadata, folder.path

        return attempt

    def _tick(self, item: EvalItem) -> None:
        if self._share.is_stopped():  # execnet takes five seconds to pass Ctrl-C on
            raise KeyboardInterrupt
        if self.session.is_worker:  # what this worker may run is known bit by bit
            for other in self._wanted(item):
                if other is not item:
                    self.lanes.want(other, self._attempt(other), group=_group(other))

    # -- pytest's hooks

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the final order, whatever has shuffled or deselected."""
        self._share.take(session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Note the next item: all that a worker knows under a distribution that is not ours."""
        del item
        self._share.next = nextitem

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Close browsers and sites, then the loop, each with a deadline."""
        self._close(CLOSE_GRACE_S)

    def pytest_unconfigure(self) -> None:
        """Close what is still open after an internal error."""
        self._close(CLOSE_GRACE_S)

    def _close(self, grace_s: float) -> None:
        if self._lanes is None:
            return
        lanes, self._lanes = self._lanes, None

        async def last() -> None:
            for evaluation in self.session.evaluations.values():
                await evaluation.close()
            await close_clients()

        lanes.close(grace_s, last)


class StoreError(BrowserEvalError):
    """The run folder cannot be written."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(
            f"the run folder {folder} cannot be written: {error}. Free some space or name another place "
            "with --eval-output=DIR. What has finished before is kept."
        )


def _group(item: pytest.Item) -> str:
    marker = item.get_closest_marker("xdist_group")
    if marker is None:
        return ""
    return str(marker.args[0] if marker.args else marker.kwargs.get("name", ""))
