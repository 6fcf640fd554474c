"""xdist: what workers learn when they start, deaths that blame the right row, one stop for all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.records import Fresh
from pytest_browsereval.hooks.representation import represent
from pytest_browsereval.hooks.scheduling import RowScheduling
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.hooks.share import STOP
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.blame import note_death
from pytest_browsereval.temporary import own_folder


class Distribution:
    """The controller's side of xdist."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self._folder: Path | None = None
        """Shared with the workers; made with the first of them."""
        self._links: dict[Any, Any] = {}
        """Channels to the workers, over which they learn what they may start and say what is over."""
        self._groups: dict[str, str] = {}
        """By the ids of items that are in one."""
        self._believed = set[str]()
        """The hashes of lines of workers that have died."""
        self.problem: str | None = None
        """What a worker could not use; the run ends with exit code 4."""

    # -- what workers are told

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker a channel, the run's id and the folder that all processes of this machine share."""
        self._links[node] = link = node.gateway.newchannel()
        link.setcallback(partial(self._receive, node))
        node.workerinput["browsereval_link"] = link
        node.workerinput["browsereval_run_id"] = self._session.run_id
        node.workerinput["browsereval_editor"] = self._session.is_in_editor
        node.workerinput["browsereval_began"] = self._session.began
        self._folder = self._folder or Path(tempfile.mkdtemp(dir=own_folder()))
        node.workerinput["browsereval_believed"] = self._believed
        node.workerinput["browsereval_control"] = str(self._folder)

    def _receive(self, node: Any, message: int | list[list[str]] | Fresh) -> None:
        """Take what a worker says: an attempt that is over, groups of items, or lines that it has written."""
        if isinstance(message, int):
            node.notify_inproc("unscheduled", node=node, indices=[message])
        elif isinstance(message, list):
            self._groups.update((node_id, group) for node_id, group in message)
        else:
            self._controller.records.told.put(message)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Stand in for all of xdist's, but for ``each``, which is refused once rows are known."""
        if config.getvalue("dist") == "each":
            return None
        again = self._is_run_again
        return RowScheduling(
            config, log, self._controller, self._links, groups=self._groups, is_run_again=again
        )

    # -- deaths

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Note what a worker has met, its death, and which of its lines count.

        xdist hands its items on after that, and what the lines are of need not be made again.
        """
        name = node.gateway.id
        output = getattr(node, "workeroutput", {})
        self.problem = self.problem or output.get("browsereval_problems")
        self._controller.unclosed_by_workers += output.get("browsereval_unclosed", ())
        if "browsereval_stopped" in output:
            self._controller.stopped_by_workers.append(output["browsereval_stopped"])
        is_linked = self._links.pop(node, None) is not None
        # First, so that a forged result of the attempt in flight does not count as one.
        believed = self._controller.records.drop_untold(name) if error else set()
        if is_linked and error and error != "keyboard-interrupt":
            self._note_death(node)
        if believed:
            self._believed |= believed
            for link in self._links.values():
                with contextlib.suppress(OSError):  # it has ended
                    link.send(believed)

    def _note_death(self, node: Any) -> None:
        """Blame the item that a worker was at alone; else one of several did it, and each of them runs alone.

        Before xdist hands them on: they are to be known as suspects then.
        """
        dsession: Any = self._session.config.pluginmanager.get_plugin("dsession")
        up = dsession.sched.find_up(node) if isinstance(dsession.sched, RowScheduling) else None
        controller, worker, at_work = self._controller, node.gateway.id, dict[str, ActiveRun]()
        for run in self._session.runs.values():
            for flight in run.store.take_flight(worker):
                if not (flight.is_recorded and run.trials.makes_attempts):
                    at_work[flight.node_id] = run
        if up in controller.rows and up not in controller.verdicts:
            at_work[up] = controller.rows[up]
        is_known = len(at_work) == 1 and up in (None, *at_work)
        if not at_work:  # a death at another test is reported by xdist
            is_known = up is not None and up not in controller.rows
        begun = [run for run in self._session.runs.values() if run.store.root.is_dir()]
        runs = dict.fromkeys((*begun, *at_work.values()))
        note_death(runs, at_work, f"the worker process {worker} died", is_known=is_known)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Blame the row that was in flight alone; xdist blames the one that was merely up."""
        self._controller.finished.add(crashitem)  # a crash has no logfinish
        if (active_run := self._controller.rows.get(crashitem)) is None:
            return
        if crashitem in self._controller.verdicts:  # its result had come in, only its end had not
            report.when, report.outcome, report.longrepr = "teardown", "passed", None
            return
        entry = active_run.plan.find(crashitem.partition("::")[2])
        found = active_run.store.last_result(entry.key)
        if found is None:  # its line was removed: xdist's own report of the crash stays
            return
        metadata = found.metadata
        message = f"{metadata.verdict} ({metadata.error_source}): {metadata.reason}"
        report.when = "setup"
        report.longrepr = represent(message, message.partition("\n")[0], entry.ref.path, entry.ref.line)
        report.browsereval_verdict = "errored"
        if active_run.config.expects(metadata):
            report.outcome, report.wasxfail = "skipped", f"errored: {metadata.reason}"

    def _is_run_again(self, item: str) -> bool:
        if item not in self._controller.rows or item in self._controller.verdicts:
            return False
        active_run = self._controller.rows[item]
        return not active_run.deaths.is_spent(active_run.plan.find(item.partition("::")[2]).key)

    # -- the end

    def pytest_keyboard_interrupt(self) -> None:
        """Ask all workers to stop now: execnet would take five seconds to pass Ctrl-C on."""
        for link in self._links.values():
            with contextlib.suppress(OSError):  # it has ended
                link.send(STOP)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give the exit code of a run without workers: xdist makes 2 of all that stops one."""
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
