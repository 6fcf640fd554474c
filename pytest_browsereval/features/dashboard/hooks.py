"""``--eval-dashboard``: a page of the running run, and its controls."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.dashboard.feed import Watched
from pytest_browsereval.features.dashboard.queue import Queue, Trial
from pytest_browsereval.features.dashboard.server import DashboardServer
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.redaction import usage_errors
from pytest_browsereval.hooks.share import count_lanes
from pytest_browsereval.model.display import one_line
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Entry

# Characters of a task; the page cuts it as well.
LONGEST = 160


class LiveView:
    """Serves the dashboard, and tells it of the queue and the end of the session.

    Args:
        controller: knows the eval session of this process, and which rows are to run.
        port: where to listen; 0 takes a free port.
    """

    def __init__(self, controller: Controller, port: int) -> None:
        self._session = controller.session
        self._controller = controller
        self._port = port
        self._server: DashboardServer | None = None
        self._queues: defaultdict[ActiveRun, Queue] = defaultdict(Queue)
        self._pytest: pytest.Session | None = None
        self._is_announced = False

    # -- the start

    def pytest_sessionstart(self) -> None:
        """Open the port once the configs are known to be usable, before anything is spent.

        Raises:
            pytest.UsageError: it cannot be opened.
        """
        if self._server is None:
            with usage_errors():
                self._server = DashboardServer(self._runs, self._port)

    def pytest_collection_finish(self) -> None:
        """Open it where the evals were found while collecting, before anything is spent."""
        self.pytest_sessionstart()

    def _runs(self) -> list[Watched]:
        known = list(self._session.runs.values())  # in one piece: this is another thread
        door = self._session.door
        return [Watched(o.config.name, o.store, o.control, door, self._queues[o]) for o in known]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Write down which trials wait, and print the address: there is something to see now.

        (The controller's wrapper is around this one: rows are checked by now.)
        """
        if not self._count_processes():
            self._begin()
        return (yield)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Do the same when the workers have collected."""
        self._begin()

    def _count_processes(self) -> int:
        return len(getattr(self._session.config.option, "tx", None) or [])  # one for each of -n

    def _begin(self) -> None:
        reporter: Any = self._session.config.pluginmanager.get_plugin("terminalreporter")
        if self._server and reporter and not self._is_announced:  # hand-written tests have no rows
            self._is_announced = True
            reporter.write_line(f"dashboard: {self._server.url}")
        for active_run in dict.fromkeys(self._controller.rows.values()):
            if not self._queues[active_run].began_at:
                processes = self._count_processes()
                lanes = count_lanes(active_run.config, max(processes, 1))
                trials = self._list_trials(active_run)
                self._queues[active_run].begin(trials, processes=processes, lanes=lanes)

    def _list_trials(self, active_run: ActiveRun) -> dict[str, Trial]:
        """Return the trials of an eval by their items, in the order of the session."""
        rows = self._controller.rows
        own = (node_id for node_id in self._controller.expected if rows.get(node_id) is active_run)
        names = {node_id: node_id.partition("::")[2] for node_id in own}
        only = {name.partition("[")[0] for name in names.values()}
        entries = {entry.name: entry for entry in active_run.plan.entries(only=only)}
        found = ((node_id, entries[name]) for node_id, name in names.items() if name in entries)
        return {node_id: Trial(entry.key, _task(active_run, entry)) for node_id, entry in found}

    # -- the course

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record that a trial is over."""
        active_run = self._controller.rows.get(report.nodeid)
        if active_run is None or report.when != "setup" or report.outcome == "rerun":
            return
        if getattr(report, "browsereval_verdict", None) is not None:
            self._queues[active_run].end_trial(report.nodeid)
        elif report.outcome != "passed":
            self._queues[active_run].end_trial(report.nodeid, _why(report, active_run.redact))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the session: it knows the exit code at the end."""
        self._pytest = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """End the events of open pages, and close the port."""
        exit_code = int(self._pytest.exitstatus) if self._pytest else int(pytest.ExitCode.INTERNAL_ERROR)
        for queue in list(self._queues.values()):
            queue.end(exit_code)
        if self._server is not None:
            self._server.close()


def _task(active_run: ActiveRun, entry: Entry) -> str:
    try:
        query = active_run.plan.ready(entry).task.query
    except UsageError:  # a stored attempt that cannot be graded again: its item reports that
        return ""
    return one_line(active_run.redact(query), LONGEST)


def _why(report: Any, redact: Callable[[str], str]) -> str:
    """Return pytest's reason why no attempt was made, in a line without secrets."""
    reason = report.longrepr
    if isinstance(reason, tuple):
        reason = str(reason[2]).removeprefix("Skipped: ")
    if report.outcome == "failed":
        with contextlib.suppress(AttributeError):
            reason = reason.reprcrash.message
        reason = f"broke before its attempt: {reason}"
    return one_line(redact(str(reason)), LONGEST)
