"""``--eval-output=URL``: runs go to a bucket while they are made, and count there once they are whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import OvertakenError, Part, list_parts
from pytest_browsereval.features.remote.plugin import BROUGHT
from pytest_browsereval.features.remote.push_pull import Push, bring_interrupted, check_name
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.names import is_eval, runs_nothing
from pytest_browsereval.hooks.redaction import usage_errors
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.shards import Shard, read_shard
from pytest_browsereval.run.store import home_of

INTERVAL_S = 120.0
"""How long an attempt that is finished waits at most before it goes."""
CHECK_S = 5.0
"""How often parts are claimed, and is looked whether another try has taken one over."""


class Uploading:
    """Sends what is finished while the run goes on, and the rest when it has ended.

    No lane waits for it, and an error of it never fails an attempt.

    Args:
        session: the eval session.
        controller: knows what has become of the runs.
        url: of the folder of all runs.
        name: of the runs of this session there; None for their ids.

    Raises:
        UsageError: the bucket cannot be used, which is found out before anything is spent.
    """

    def __init__(self, session: EvalSession, controller: Controller, url: str, name: str | None) -> None:
        if name is not None:
            check_name(name)
        Bucket.open(url, is_written=True).check_conditions()
        self._url = url.rstrip("/")
        self._session = session
        self._controller = controller
        self._name = name
        self._has_begun = False
        self._brought: dict[str, str | None] = {}
        """The folders that runs were brought into, by the names of the evals."""
        self._pushes: dict[ActiveRun, Push] = {}
        self._is_over = threading.Event()

    # -- what other sessions have done of the runs

    def pytest_sessionstart(self) -> None:
        """Load evals that arguments name, before there are workers: they take over what is found here.

        A session that ends by what is done does so here: an error while files are collected is another one.
        """
        config = self._session.config
        for arg in config.args if self._name is not None else ():
            path = config.invocation_params.dir / arg.partition("::")[0]
            if is_eval(path.name) and path.is_file():
                with self._session.note_problems():
                    self._session.load_run(path)

    def bring(self, config: EvalConfig) -> Path | None:
        """Return the folder with what there is of an eval's run at the URL; None if there is nothing.

        Raises:
            UsageError: the run is done already, or the bucket cannot be used.
        """
        if self._name is None or runs_nothing(self._session.config):
            return None
        part = self._find_part(config.name, self._name)
        self._check_free(part)
        folder = home_of(config.output_dir, config.name) / self._session.run_id
        found = folder if bring_interrupted(part, folder) else None
        self._brought[config.name] = None if found is None else str(found)
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker: it must not look itself, since the session's own try is there by then."""
        if self._name is not None:
            node.workerinput[BROUGHT] = self._brought

    def _find_part(self, eval_name: str, name: str) -> Part:
        """Return what a run is at the URL.

        Raises:
            UsageError: the bucket cannot be used.
        """
        given = self._session.config.getoption("eval_shard", None)
        bucket = Bucket.open(f"{self._url}/{safe_folder(eval_name)}/{name}", is_written=True)
        return Part(bucket, Shard(1, 1) if given is None else read_shard(given))

    def _check_free(self, part: Part) -> None:
        """Refuse a part that is done, or was divided otherwise: its run would be made and could not be sent.

        An engine may start a part again that was done as its machine was lost, so it gets the exit code of a
        part that has no row.

        Raises:
            UsageError: it is done, or the bucket cannot be used.
            pytest.exit.Exception: it is done, and this is all that the session is about.
        """
        list_parts(part.bucket, part.shard.of)
        if part.done() is None:
            return
        message = (
            f"{part.url} is already finished and cannot change. Nothing was run. For another run, "
            "choose another name: --eval-run-name=NAME."
        )
        if self._name is not None and len(self._session.config.args) == 1:  # else others would be left out
            pytest.exit(message, returncode=pytest.ExitCode.NO_TESTS_COLLECTED)
        raise RemoteError(message)

    # -- what this session does

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Send finished attempts while the run goes on."""
        if runs_nothing(session.config):
            return (yield)
        for active_run in self._runs():
            if not active_run.trials.makes_attempts:
                how = "Grade again first, then push the run: `browsereval push RUN URL --name NAME`."
                raise pytest.UsageError(f"--eval-output={self._url} is for new runs. {how}")
            with usage_errors():
                self._check_free(self._push_of(active_run).part)
        self._has_begun = True
        thread = threading.Thread(target=self._send_in_background, name="browsereval-upload", daemon=True)
        thread.start()
        try:
            return (yield)
        finally:
            self._is_over.set()
            thread.join()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Send the rest after all others have written; what is missing there makes the run incomplete."""
        yield
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        runs = self._runs() if self._has_begun and self._controller.has_looped else []
        for active_run in (one for one in runs if one.store.root.is_dir()):
            root, code = active_run.store.root, int(session.exitstatus)
            named = f" --name {self._name}" if self._name else ""
            try:
                line = self._send_rest(active_run, code)
            except (UsageError, OSError, KeyboardInterrupt) as error:
                line = f"NOT SENT: {str(error) or 'interrupted.'}"
                if not isinstance(error, OvertakenError):
                    line += f" Later: browsereval push {root} {self._url}{named}"
                if isinstance(error, KeyboardInterrupt):
                    session.exitstatus = pytest.ExitCode.INTERRUPTED
                elif code in (0, 1):
                    session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            if reporter is not None:
                reporter.write_line(line)

    def _send_rest(self, active_run: ActiveRun, exit_code: int) -> str:
        """Return what has become of a run at the URL.

        Raises:
            UsageError: something of it is missing there.
            OSError: a file cannot be read.
        """
        push = self._push_of(active_run)
        push.hold()
        # Where a row has no result the run would count there as whole, and nobody could resume it.
        is_ended = active_run in self._controller.summaries and exit_code in (0, 1)
        if is_ended and not lacking(self._controller.stored_runs[active_run], active_run.store.locks):
            push.finish()
            return f"sent to {push.url}"
        push.send()
        return f"sent to {push.url}, but the run is not complete. Resume it, then push it"

    def _push_of(self, active_run: ActiveRun) -> Push:
        """Return the push of a run, which may not be there yet.

        Raises:
            UsageError: the bucket cannot be used.
        """
        if active_run not in self._pushes:
            root = active_run.store.root
            part = self._find_part(active_run.config.name, self._name or root.name)
            self._pushes[active_run] = Push(root, part)
        return self._pushes[active_run]

    def _runs(self) -> list[ActiveRun]:
        return list(dict.fromkeys(self._session.runs.values()))

    def _send_in_background(self) -> None:
        due = time.monotonic() + INTERVAL_S
        while not self._is_over.wait(min(CHECK_S, INTERVAL_S)):
            is_due = time.monotonic() >= due
            for active_run in self._runs():
                push = self._push_of(active_run)
                try:
                    push.hold()
                    if is_due:
                        push.send_finished()
                except OvertakenError as error:
                    active_run.outages.end(str(error))
                    return  # the end of the session sends what other runs have
                except (UsageError, OSError):
                    pass  # the end of the session tells what is missing then
            if is_due:
                due = time.monotonic() + INTERVAL_S
