"""``--eval-output=URL``: runs go to a bucket while they are made, and count there once they are whole."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import OvertakenError, Part
from pytest_browsereval.features.remote.plugin import BROUGHT
from pytest_browsereval.features.remote.pull import (
    bring_interrupted,
    bring_run,
    find_interrupted,
    find_own,
)
from pytest_browsereval.features.remote.push import Push, check_name
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.names import is_by_hand, is_eval, runs_nothing
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.manifest import file_hash
from pytest_browsereval.run.shards import Shard, read_shard
from pytest_browsereval.run.store import RunStore, home_of

INTERVAL_S = 120.0
"""How long an attempt that is finished waits at most before it goes."""
CHECK_S = 5.0
"""How often is looked whether another try has taken a part over."""

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


class EarlierTries:
    """Brings what other machines have finished of this session's runs, or a run that an option names.

    Args:
        session: the eval session.
        url: of the folder of all runs that this session's are sent to; None if they stay here.
        name: of the runs of this session there; None for their ids.
    """

    def __init__(self, session: EvalSession, url: str | None, name: str | None) -> None:
        self._session = session
        self._url = url
        self._name = name
        self._folders: dict[str, str | None] = {}
        self._files: dict[str, Path] = {}

    @property
    def _shard(self) -> Shard | None:
        given = self._session.config.getoption("eval_shard", None)
        return None if given is None else read_shard(given)

    def bring(self, config: EvalConfig, url: str | None) -> Path | None:
        """Return the folder with what there is of a run; None if there is nothing.

        Args:
            config: of the eval.
            url: of the run that an option names; None for this session's own.

        Raises:
            UsageError: this session's run is done already, or the bucket cannot be used.
        """
        home = home_of(config.output_dir, config.name)
        folder: Path | None = home / self._session.run_id
        part = self._find_part(config) if not runs_nothing(self._session.config) else None
        if url is not None:
            bring_run(url, self._shard, home / self._session.run_id)
        elif part is not None and (own := find_own(home, part)) is not None:
            folder = own
        elif part is not None and (found := find_interrupted(part)) is not None:
            bring_interrupted(found, home / self._session.run_id)
        else:
            folder = None
        self._folders[config.name] = None if folder is None else str(folder)
        return folder

    def _find_part(self, config: EvalConfig) -> Part | None:
        """Return what this session's run is at the URL; None where it goes nowhere, or has a new name.

        Raises:
            UsageError: it is done already, or the bucket cannot be used.
        """
        if self._url is None or self._name is None:
            return None
        if self._files.setdefault(config.name, config.path) != config.path:
            raise UsageError(
                f"{config.path} and {self._files[config.name]} have one name, and would be one run at the "
                "URL. Write another `name` into one of them."
            )
        part = find_part(self._url, config.name, self._name, self._shard)
        check_free(part, config, self._session.config)
        return part

    def pytest_sessionstart(self) -> None:
        """Load evals that arguments name, before there are workers: they take over what is found here.

        A session that ends by what is done does so here: an error while files are collected is another one.
        """
        config = self._session.config
        is_early = config.getoption("tx", None) or config.getoption("eval_accept_done")
        for arg in config.args if is_early else ():
            path = config.invocation_params.dir / arg.partition("::")[0]
            if is_eval(path.name) and path.is_file():
                with self._session.note_problems():
                    self._session.load_run(path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker: it must not look itself, since the session's own try is there by then."""
        node.workerinput[BROUGHT] = self._folders


def find_part(url: str, eval_name: str, name: str, shard: Shard | None) -> Part:
    """Return what a run is at a URL.

    Raises:
        RemoteError: the bucket cannot be used.
    """
    bucket = Bucket.open(f"{url.rstrip('/')}/{safe_folder(eval_name)}/{name}", is_written=True)
    return Part(bucket, shard or Shard(1, 1))


def digest_of_settings(eval_config: EvalConfig, config: pytest.Config) -> str:
    """Return 16 hex digits over what a session runs and decides by: config, gate, rows, selection.

    Args:
        eval_config: of the eval.
        config: of the session.
    """
    option = config.option
    names = ("keyword", "markexpr", "deselect", "eval_limit", "lf", "stepwise")
    gate = eval_config.gate.model_dump(mode="json", exclude={"baseline"})  # a copy of a run lies anywhere
    made_of = {
        "config": eval_config.content_hash(),
        "gate": gate,
        "rows": [file_hash(one.file(eval_config.base_dir)) for one in eval_config.dataset],
        "items": [arg.partition("::")[2] for arg in config.args],
        "options": [getattr(option, name, None) or None for name in names],
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]


def check_free(part: Part, eval_config: EvalConfig, config: pytest.Config) -> None:
    """Refuse a part that is done: its run would be made and could not be sent.

    With ``--eval-accept-done`` the session ends as the one did that has made it: an engine may start a part
    again that was done as its machine was lost.

    Args:
        part: which one.
        eval_config: of the eval.
        config: of the session.

    Raises:
        RemoteError: it is, or the bucket cannot be used.
        pytest.exit.Exception: it is, and this is all that the session is about.
    """
    if (done := part.done()) is None:
        return
    is_all = len(config.args) == 1  # else other evals would be left out in silence
    if config.getoption("eval_accept_done") and done.ended is not None and is_all:
        if done.settings != digest_of_settings(eval_config, config):
            raise RemoteError(
                f"{part.url} is done already, by other settings: config, gate, rows or selection differ, "
                "so its exit code says nothing about this session. Nothing was run. Take another name: "
                "--eval-run-name=NAME."
            )
        message = f"{part.url} is done already. Nothing was run: this is the exit code that it ended with"
        pytest.exit(f"{message}, {done.ended}.", returncode=done.ended)
    raise RemoteError(
        f"{part.url} is done already, and what is done does not change. Nothing was run. For another "
        "run take another name: --eval-run-name=NAME."
    )


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
        self._pushes: dict[ActiveRun, Push] = {}
        self._noted: set[ActiveRun] = set()
        self._claimed: set[ActiveRun] = set()
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
        if runs_nothing(session.config):
            return (yield)
        for active_run in self._runs():
            if not active_run.trials.makes_attempts:
                raise pytest.UsageError(
                    f"--eval-output={self.url} is for new runs. Grade again first, then push the run: "
                    "`browsereval push RUN URL --name NAME`."
                )
            items = (item for item in session.items if isinstance(item, EvalItem))
            self._begin(active_run, has_rows=any(item.active_run is active_run for item in items))
        self._has_begun = True
        thread = threading.Thread(target=self._send_in_background, name="browsereval-upload", daemon=True)
        thread.start()
        try:
            return (yield)
        finally:
            self._is_over.set()
            thread.join()

    def pytest_runtest_logreport(self) -> None:
        """Note with the first result which try a run folder is: it may be killed before anything is sent."""
        for active_run, push in self._pushes.items():
            if active_run not in self._noted and (active_run.store.root / "manifest.json").is_file():
                self._noted.add(active_run)
                with suppress(UsageError, OSError):
                    push.note_token()

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
                if isinstance(error, OvertakenError):
                    line, reason = f"NOT SENT: {reason} What was done here is in {root}", ""
            if reason:
                line = f"NOT SENT: {reason} Later: browsereval push {root} {self.url}"
                line += f" --name {self._name}" if self._name is not None else ""
            if reporter is not None:
                reporter.write_line(line, **{colour: True})

    def _send_rest(self, active_run: ActiveRun, exit_code: int) -> tuple[str, str]:
        """Return what has become of a run at the URL, and a colour.

        Raises:
            UsageError: something of it is missing there.
            OSError: a file cannot be read.
        """
        is_whole = active_run in self._controller.summaries and exit_code in (0, 1)
        push = self._push_of(active_run)
        if push.is_taken_over():
            raise OvertakenError(push.part.overtaken)
        if is_whole and not self._lacks(active_run):
            push.finish(exit_code, digest_of_settings(active_run.config, self._session.config))
            return f"sent to {push.url}", "green"
        push.send()
        return f"sent to {push.url}, and not done: the run is not complete. Resume it, then push it", "yellow"

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Claim what a worker has rows of: this process has none, and the first result may take an hour."""
        for path, active_run in self._session.runs.items():
            if active_run not in self._claimed:
                start = f"{self._session.nodeid_of(path)}::"
                self._begin(active_run, has_rows=any(one.startswith(start) for one in ids))

    def _begin(self, active_run: ActiveRun, *, has_rows: bool) -> None:
        """Claim the part that a run is, so that an earlier try which still runs stops.

        One that has no row here is not claimed: nothing of it would ever be there.

        Raises:
            pytest.UsageError: it is done, or the bucket cannot be used.
        """
        try:
            push = self._push_of(active_run)
            check_free(push.part, active_run.config, self._session.config)
            if has_rows:
                self._claimed.add(active_run)
                push.begin()
        except UsageError as error:
            raise pytest.UsageError(redact_known(str(error))) from None
        reporter: Any = self._session.config.pluginmanager.get_plugin("terminalreporter")
        if push.took_over and reporter is not None:
            reporter.write_line(
                f"{push.part.url}: taken over from an earlier try, which stops if it still runs"
            )

    def _push_of(self, active_run: ActiveRun) -> Push:
        """Return the push of a run, which may not be there yet.

        Raises:
            UsageError: the run is not one that can be pushed, or there is no key.
        """
        if active_run not in self._pushes:
            root, given = active_run.store.root, self._session.config.getoption("eval_shard", None)
            if active_run.trials.has_earlier:
                push = Push.of_run(root, self.url, self._name, is_ours=True)
            else:
                shard = None if given is None else read_shard(given)
                push = Push(root, find_part(self.url, active_run.config.name, self._name or root.name, shard))
            self._pushes[active_run] = push
        return self._pushes[active_run]

    def _runs(self) -> list[ActiveRun]:
        return list(dict.fromkeys(self._session.runs.values()))

    def _lacks(self, active_run: ActiveRun) -> bool:
        """Whether a row of a run has no result: it would count there as whole, and nobody could resume it."""
        rows, run = self._controller.rows, self._controller.stored_runs[active_run]
        here = any(rows[node_id] is active_run for node_id in self._controller.lacking())
        return (
            here or lacking(run, active_run.store.locks) is not None
        )  # an earlier try has selected more rows

    def _send_in_background(self) -> None:
        sent: dict[ActiveRun, set[Path]] = {active_run: set() for active_run in self._runs()}
        due = time.monotonic() + INTERVAL_S
        while not self._is_over.wait(min(CHECK_S, INTERVAL_S)):
            is_due = time.monotonic() >= due
            for active_run in list(sent):
                root, push = active_run.store.root, self._push_of(active_run)
                with suppress(UsageError, OSError):  # the end of the session tells what is missing then
                    if push.is_taken_over():
                        del sent[active_run]
                        active_run.outages.end(push.part.overtaken)
                    elif is_due and root.is_dir():
                        new = [one for one in _list_finished(RunStore(root)) if one not in sent[active_run]]
                        if new:
                            push.send_attempts(new)
                        sent[active_run].update(new)
            if is_due:
                due = time.monotonic() + INTERVAL_S


def _list_finished(store: RunStore) -> Iterator[Path]:
    """Yield the folders of finished attempts: an agent's program may have written a line, or made a link."""
    home = store.root.resolve()
    for one in store.run.update_lines().list_all():
        folder = home / one.place
        if folder.is_dir() and folder.resolve() == folder:
            yield store.root / one.place
