"""xdist: slots that workers may run ahead over, deaths that blame the right row, one stop for all."""

from __future__ import annotations

import contextlib
import heapq
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling, LoadGroupScheduling, LoadScheduling, LoadScopeScheduling

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.partition import STOP_NAME
from pytest_browsereval.hooks.representation import represent
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.deaths import note_death
from pytest_browsereval.run.relations import slots
from pytest_browsereval.temporary import own_folder

LEAST_QUEUED = 2
"""Tests that a worker has to have: the one that is up, and the next one."""


class _Mended(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """What the three ways to distribute have in common.

    Args:
        config: pytest's.
        log: xdist's.
        is_run_again: whether the item that was up in a worker that has died is run once more.
    """

    workqueue: Any
    assigned_work: dict[Any, dict[str, dict[str, bool]]]

    def __init__(self, config: pytest.Config, log: Any, is_run_again: Callable[[str], bool]) -> None:
        super().__init__(config, log)
        self._is_run_again = is_run_again

    def remove_node(self, node: Any) -> str | None:
        """Put back what a dead worker has not finished; returns the item that was up, to be reported."""
        units = self.assigned_work.pop(node)
        crashed = next((item for unit in units.values() for item, done in unit.items() if not done), None)
        if crashed is None:
            return None
        is_run_again = self._is_run_again(crashed)
        for scope, unit in reversed(units.items()):
            if not is_run_again and crashed in unit:
                unit[crashed] = True
            if not all(unit.values()):
                self.workqueue[scope] = unit
                self.workqueue.move_to_end(scope, last=False)
        for other in self.nodes:
            self._reschedule(other)
        return None if is_run_again else crashed

    def _reschedule(self, node: Any) -> None:
        """Top up a worker's queue; end it when no work waits."""
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) < LEAST_QUEUED:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()


class _ByFile(_Mended, LoadFileScheduling):  # type: ignore[misc] # the same
    """``--dist loadfile``."""


class _ByGroup(_Mended, LoadGroupScheduling):  # type: ignore[misc] # the same
    """``--dist loadgroup``."""


SCHEDULERS = {"loadfile": _ByFile, "loadscope": _Mended, "loadgroup": _ByGroup}
"""By the name that ``--dist`` has."""


QUEUED = 3
"""Items that a worker has in its queue; it runs ahead over its whole slot."""


class Pending:
    """Places of items that wait to be sent, each slot's in order; stands in for the list of xdist's class.

    Args:
        slot_of: the slot of each place.
    """

    def __init__(self, slot_of: Sequence[int] = ()) -> None:
        self._slot_of = slot_of
        self._heaps: defaultdict[int, list[int]] = defaultdict(list)
        for place, slot in enumerate(slot_of):
            self._heaps[slot].append(place)  # in order: that is a heap already

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values()))

    def extend(self, places: Iterable[int]) -> None:
        """Put places in again: what lies behind an item in its slot has not been done yet."""
        for place in places:
            heapq.heappush(self._heaps[self._slot_of[place]], place)

    def of_slot(self, slot: int) -> Sequence[int]:
        """Return what waits in a slot; only the first of it is where it belongs."""
        return self._heaps[slot]

    def take(self, slot: int, most: int) -> list[int]:
        """Take the first places of a slot out."""
        heap = self._heaps[slot]
        return [heapq.heappop(heap) for _ in range(min(most, len(heap)))]


class SlotScheduling(LoadScheduling):  # type: ignore[misc] # xdist ships no types
    """Item *i* belongs to slot *i* modulo the number of workers, and is run in order.

    What is tied to an item by ``depends_on`` or ``sites`` belongs to the slot of the first of them.

    Args:
        config: pytest's.
        log: xdist's.
        slots: the slot of each worker, by its id; a replacement has its predecessor's.
        ties: what items are tied by, by their ids.
        is_run_again: whether the item that was up in a worker that has died is run once more, without a
            report: JUnit would write the one of a dead worker as a test without a name.
    """

    def __init__(
        self,
        config: pytest.Config,
        log: Any,
        slots: Mapping[str, int],
        ties: Mapping[str, Collection[str]],
        is_run_again: Callable[[str], bool] = lambda item: False,  # noqa: ARG005 none is
    ) -> None:
        super().__init__(config, log)
        self._slots = slots
        self._ties = ties
        self._is_run_again = is_run_again
        self.pending = Pending()

    collection: list[str] | None
    pending: Pending

    def schedule(self) -> None:
        """Send the first items once all workers have collected the same."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = next(iter(self.node2collection.values()))
            ties = [self._ties.get(name, ()) for name in self.collection]
            self.pending = Pending(slots(ties, self.numnodes))
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Top up a worker's queue; end it when its slot is empty."""
        if node.shutting_down or node not in self.node2collection:
            return
        slot = self._slots[node.gateway.id]
        if places := self.pending.take(slot, QUEUED - len(self.node2pending[node])):
            self.node2pending[node].extend(places)
            node.send_runtest_some(places)
        if not self.pending.of_slot(slot):
            node.shutdown()

    def remove_node(self, node: Any) -> str | None:
        """Take a dead worker's items back; returns the one that was up, to be reported."""
        crashed: str | None = super().remove_node(node)
        if crashed is None or not self._is_run_again(crashed):
            return crashed
        self.mark_test_pending(crashed)
        return None

    def mark_test_pending(self, item: str) -> None:
        """Have an item run again."""
        assert self.collection is not None  # noqa: S101 an item has been run
        self.pending.extend([self.collection.index(item)])
        for node in self.nodes:
            self.check_schedule(node)


class Distribution:
    """The controller's side of xdist."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self._folder: Path | None = None
        """Shared with the workers; made with the first of them."""
        self._slots: dict[str, int] = {}
        self._orphans: list[int] = []
        self.problem: str | None = None
        """What a worker could not use; the run ends with exit code 4."""

    # -- what workers are told

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker its slot, the run's id and the folder that all processes share."""
        name = node.gateway.id
        slot = self._orphans.pop(0) if self._orphans else len(self._slots)
        self._slots[name] = slot
        node.workerinput["browsereval_slot"] = slot
        node.workerinput["browsereval_run_id"] = self._session.run_id
        node.workerinput["browsereval_editor"] = self._session.is_in_editor
        node.workerinput["browsereval_began"] = self._session.began
        node.workerinput["browsereval_dist"] = self._session.config.getvalue("dist")  # its own says "no"
        self._folder = self._folder or Path(tempfile.mkdtemp(dir=own_folder()))
        node.workerinput["browsereval_control"] = str(self._folder)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Stand in for ``load``, which a bare ``-n`` means too; any other distribution is the user's."""
        dist = config.getvalue("dist")
        if dist in SCHEDULERS:
            return SCHEDULERS[dist](config, log, self._is_run_again)
        if dist != "load":
            return None
        return SlotScheduling(config, log, self._slots, self._controller.ties, self._is_run_again)

    # -- deaths

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Note what a worker has met, and its death."""
        name = node.gateway.id
        output = getattr(node, "workeroutput", {})
        self.problem = self.problem or output.get("browsereval_problems")
        if "browsereval_stopped" in output:
            self._controller.stopped_by_workers.append(output["browsereval_stopped"])
        if not error or error == "keyboard-interrupt" or name not in self._slots:
            return
        self._orphans.append(self._slots.pop(name))
        self._note_death(name, self._find_up(node))

    def _find_up(self, node: Any) -> str | None:
        """Return the item that a worker is at, as far as has been reported."""
        session: Any = self._session.config.pluginmanager.get_plugin("dsession")
        sched = session.sched
        units = getattr(sched, "assigned_work", {}).get(node, {}).values()
        if pending := getattr(sched, "node2pending", {}).get(node):
            return str(sched.collection[pending[0]])
        return next((item for unit in units for item, done in unit.items() if not done), None)

    def _note_death(self, worker: str, up: str | None) -> None:
        """Blame the item that a worker was at alone; else one of several did it, and each of them runs alone.

        Before xdist hands them on: they are to be known as suspects then.
        """
        controller, at_work = self._controller, dict[str, ActiveRun]()
        for run in self._session.runs.values():
            for flight in run.store.take_flight(worker):
                if not (flight.is_recorded and run.trials.makes_attempts):
                    at_work[flight.node_id] = run
        if up in controller.rows and up not in controller.verdicts:
            at_work[up] = controller.rows[up]
        is_known = len(at_work) == 1 and up in (
            None,
            *at_work,
        )
        if not at_work:  # a death at another test is reported by xdist
            is_known = up is not None and up not in controller.rows
        begun = [run for run in self._session.runs.values() if run.store.root.is_dir()]
        runs = dict.fromkeys((*begun, *at_work.values()))
        note_death(runs, at_work, f"the worker process {worker} died", is_known=is_known)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        """Blame the row that was in flight alone; xdist blames the one that was merely up."""
        if crashitem not in self._controller.rows:
            self._controller.finished.add(crashitem)  # a crash has no logfinish
            return
        if crashitem in self._controller.verdicts:  # its result had come in, only its end had not
            report.when, report.outcome, report.longrepr = "teardown", "passed", None
            self._controller.finished.add(crashitem)
            return
        if self._is_run_again(crashitem):
            report.when, report.outcome = "setup", "rerun"
            with contextlib.suppress(NotImplementedError):  # --dist each, or a scheduler of somebody else's
                sched.mark_test_pending(crashitem)
        else:
            self._report(crashitem, report)

    def _is_run_again(self, item: str) -> bool:
        if item not in self._controller.rows or item in self._controller.verdicts:
            return False
        active_run = self._controller.rows[item]
        return not active_run.deaths.is_spent(active_run.plan.find(item.partition("::")[2]).key)

    def _report(self, node_id: str, report: Any) -> None:
        active_run = self._controller.rows[node_id]
        entry = active_run.plan.find(node_id.partition("::")[2])
        found = active_run.store.last_result(entry.key)
        assert found is not None  # noqa: S101 of each try that a death has used up there is a record
        metadata = found[0]
        message = f"{metadata.verdict} ({metadata.error_source}): {metadata.reason}"
        report.when = "setup"
        report.longrepr = represent(message, message.partition("\n")[0], entry.ref.path, entry.ref.line)
        report.browsereval_verdict = "errored"
        self._controller.finished.add(node_id)
        if active_run.config.expects(metadata):
            report.outcome, report.wasxfail = "skipped", f"errored: {metadata.reason}"

    # -- the end

    def pytest_keyboard_interrupt(self) -> None:
        """Ask all workers to stop now: execnet would take five seconds to pass Ctrl-C on."""
        if self._folder is not None:
            (self._folder / STOP_NAME).touch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give the exit code of a run without workers: xdist makes 2 of whatever stops one."""
        if self.problem is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif self._controller.stopped_by_workers and session.exitstatus == pytest.ExitCode.INTERRUPTED:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell what workers could not use."""
        if self.problem is not None:
            terminalreporter.section("eval cannot run", red=True)
            terminalreporter.line(self.problem, red=True)

    def pytest_unconfigure(self) -> None:
        """Remove the shared folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
