"""``--eval-output=URL``: runs go to a bucket while they are made, and count there once they are whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.claims import Part
from pytest_browsereval.features.remote.push import Push, check_name
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.names import is_by_hand
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.index import read_index
from pytest_browsereval.run.shards import Shard, read_shard

INTERVAL_S = 5.0
"""How long an attempt that is finished waits at most before it goes, while nothing else holds it up."""
SHARE = 20
"""At least so many times as long as a look takes, nothing is looked for: a share of 5 %."""
MOST_S = 120.0
"""How long at most is waited after an error."""

INTERRUPTED = "interrupted."


class TestsByHand:
    """Refuses tests by hand, whose runs are their own: they would not be sent.

    Args:
        session: the eval session.
        url: of the folder of all runs.
    """

    __test__ = False

    def __init__(self, session: EvalSession, url: str) -> None:
        self._session = session
        self._url = url

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Refuse them, in workers too."""
        if (item := next(filter(is_by_hand, items), None)) is not None:
            message = (
                f"--eval-output={self._url} sends runs of eval configs, and {item.nodeid} is a test by hand. "
                "Leave the option out, and push its run: `browsereval push RUN URL`."
            )
            self._session.problems.append(UsageError(message))


class Uploading:
    """Sends what is finished while the run goes on, and the rest when it has ended.

    No lane waits for it, and an error of it never fails an attempt.

    Args:
        session: the eval session.
        controller: knows what has become of the runs.
        url: of the folder of all runs.
        name: of the runs of this session there; None for their ids.
    """

    def __init__(self, session: EvalSession, controller: Controller, url: str, name: str | None) -> None:
        self.url = url
        self._session = session
        self._controller = controller
        self._name = name
        self._has_begun = False
        self._is_over = threading.Event()

    def check(self) -> None:
        """Find out before anything is spent whether the bucket can be used.

        Raises:
            UsageError: it cannot.
        """
        if self._name is not None:
            check_name(self._name)
        Bucket.open(self.url, is_written=True).check_conditions()

    def pytest_report_header(self) -> str:
        """Say where the runs go."""
        return f"browsereval: runs are made here and sent to {self.url}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Send finished attempts beside the run."""
        if session.config.option.collectonly:
            return (yield)
        for active_run in self._runs():
            if not active_run.trials.makes_attempts:
                raise pytest.UsageError(
                    f"--eval-output={self.url} is for new runs. Grade again first, then push the run: "
                    "`browsereval push RUN URL --name NAME`."
                )
            self._check_free(active_run)
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
        reason = ""
        for active_run in self._runs() if self._has_begun and self._controller.has_looped else ():
            root = active_run.store.root
            if not root.is_dir():
                continue
            line, colour = "", "red"
            try:
                if reason != INTERRUPTED:
                    reason = ""
                    line, colour = self._send_rest(active_run, int(session.exitstatus))
            except KeyboardInterrupt:
                reason = INTERRUPTED
                session.exitstatus = pytest.ExitCode.INTERRUPTED
            except (UsageError, OSError) as error:
                reason = str(error)
                if int(session.exitstatus) in (0, 1):
                    session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            if reason:
                line = f"NOT SENT: {reason} Later: browsereval push {root} {self.url}"
                line += f" --name {self._name}" * (self._name is not None)
            if reporter is not None:
                reporter.write_line(line, **{colour: True})

    def _send_rest(self, active_run: ActiveRun, exit_code: int) -> tuple[str, str]:
        """Return what has become of a run at the URL, and a colour.

        Raises:
            UsageError: something of it is missing there.
            OSError: a file cannot be read.
        """
        is_whole = active_run in self._controller.summaries and exit_code in (0, 1)
        push = Push(active_run.store.root, self.url, self._name, is_ours=True)
        if is_whole and not self._lacks(active_run):
            push.finish()
            return f"sent to {push.url}", "green"
        push.send()
        return f"sent to {push.url}, and not done: the run is not complete. Resume it, then push it", "yellow"

    def _check_free(self, active_run: ActiveRun) -> None:
        """Refuse a name under which a part is done: the run would be made and could not be sent.

        Raises:
            pytest.UsageError: it is, or the bucket cannot be used.
        """
        if self._name is None:  # an id is new, or that of a run which is resumed
            return
        given = self._session.config.getoption("eval_shard", None)
        shard = Shard(1, 1) if given is None else read_shard(given)
        url = f"{self.url.rstrip('/')}/{safe_folder(active_run.config.name)}/{self._name}"
        try:
            part = Part(Bucket.open(url, is_written=True), shard)
            done = part.done()
        except UsageError as error:
            raise pytest.UsageError(redact_known(str(error))) from None
        if done is not None:
            raise pytest.UsageError(
                f"{url}/{part.path} is done already, and what is done does not change. Take another name."
            )

    def _runs(self) -> list[ActiveRun]:
        return list(dict.fromkeys(self._session.runs.values()))

    def _lacks(self, active_run: ActiveRun) -> bool:
        """Whether a row of a run has no result: it would count there as whole."""
        rows = self._controller.rows
        return any(rows[node_id] is active_run for node_id in self._controller.lacking())

    def _send_in_background(self) -> None:
        sent: dict[ActiveRun, set[Path]] = {}
        pushes: dict[ActiveRun, Push] = {}
        wait, pause = INTERVAL_S, INTERVAL_S
        while not self._is_over.wait(wait):
            began = time.monotonic()
            try:
                for active_run in self._runs():
                    root = active_run.store.root
                    there = sent.setdefault(active_run, set())
                    new = [folder for folder in _list_finished(root) if folder not in there]
                    if new:
                        if active_run not in pushes:
                            pushes[active_run] = Push(root, self.url, self._name, is_ours=True)
                        pushes[active_run].send(new)
                        there.update(new)
                pause = INTERVAL_S
            except (UsageError, OSError):
                pause = min(pause * 2, MOST_S)  # the end of the session tells what is missing then
            wait = max(pause, SHARE * (time.monotonic() - began))


def _list_finished(root: Path) -> Iterator[Path]:
    """Yield the folders of finished attempts: an agent's program may have written into the index."""
    home = root.resolve()
    for name in read_index(root) if root.is_dir() else ():
        with suppress(OSError, TypeError, ValueError):
            folder = home / name
            if folder.resolve() == folder and home in folder.parents:  # neither a link nor a way out
                yield root / name
