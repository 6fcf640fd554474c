"""Detects rewritten records: each process says what it wrote, and the controller compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import join_first
from pytest_browsereval.run import records
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.store import RunStore

Fresh = Mapping[str, Mapping[str, records.Digests]]
"""What a process has written and found, by the config's node id, or the folder of a run of a test by hand."""


class RecordKeeping:
    """Has a worker put the digests of the records that it has written on its reports.

    Args:
        session: the eval session of this process.
    """

    def __init__(self, session: EvalSession) -> None:
        self._session = session

    def take_fresh(self) -> Fresh:
        """Return what was written and found since the last time."""
        fresh: dict[str, Mapping[str, records.Digests]] = {}
        for path, active_run in self._session.runs.items():
            if found := active_run.store.records.take_fresh():
                fresh[self._session.nodeid_of(path)] = found
            for store in active_run.own_runs.stores:
                if found := store.records.take_fresh():
                    fresh[str(store.root)] = found
        return fresh

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Hand over what is known, on whichever report is sent next: attempts run ahead of their items."""
        if self._session.is_worker and (fresh := self.take_fresh()):
            report.browsereval_records = fresh

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over the rest."""
        if self._session.is_worker:
            session.config.workeroutput["browsereval_records"] = self.take_fresh()  # type: ignore[attr-defined]


class RecordCheck:
    """Finds records that are not what the processes of the run have written.

    Args:
        session: the eval session of the controller.
    """

    def __init__(self, session: EvalSession) -> None:
        self._session = session
        self._keeping = RecordKeeping(session)
        self._known: dict[str, records.KnownRecords] = {}
        self.problems: list[str] = []
        """A sentence for each run that lost records."""

    def _add(self, fresh: Fresh) -> None:
        for owner, found in fresh.items():
            self._known.setdefault(owner, records.KnownRecords()).add(found)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take over what the process of a report has written."""
        self._add(getattr(report, "browsereval_records", {}))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker has written since its last report."""
        self._add(getattr(node, "workeroutput", {}).get("browsereval_records", {}))

    def take_stock(self, active_run: ActiveRun) -> None:
        """Take over what the run of a config has before this session makes its first attempt."""
        store = active_run.store
        if store.root.exists():
            self._of(active_run).add_all(store.root, store.folders())

    def _of(self, active_run: ActiveRun) -> records.KnownRecords:
        places = (path for path, one in self._session.runs.items() if one is active_run)
        return self._known.setdefault(self._session.nodeid_of(next(places)), records.KnownRecords())

    def check(self, active_run: ActiveRun, *, is_over: bool) -> None:
        """Look for records of a config's run that something else has changed or made.

        Args:
            active_run: of the config.
            is_over: whether all its items have come to their end: else an attempt may be writing its record.

        Raises:
            OSError: it cannot be written down which.
            UsageError: the run folder cannot be read.
        """
        self._add(self._keeping.take_fresh())
        known, store = self._of(active_run), active_run.store
        changed = list(known.find_changed(store.root)) if is_over or active_run.trials.makes_attempts else []
        foreign = known.find_foreign(store.root, store.folders()) if is_over else ()
        self._tell(store, [*changed, *foreign])

    def check_foreign(self, store: RunStore, counted: Iterable[Path]) -> None:
        """Look for such records of this session or an earlier one that are still in the run.

        Args:
            store: the run.
            counted: the folders of its trials' results.
        """
        folders = records.Lost(store.root).find_kept(counted)
        if folders and not self.problems:  # else this session has just found them
            self.problems.append(f"{store.root}: {records.describe_foreign_records(folders)}.")

    def _tell(self, store: RunStore, folders: list[str]) -> None:
        for folder in folders:
            store.append(
                records.REWRITTEN, {"folder": folder, "found_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
            )
        if folders:
            named = join_first([f"{folder}/{records.RECORD}" for folder in folders], records.NAMED)
            self.problems.append(
                f"{store.root}: something other than this run has changed, made or removed records, so that "
                f"their trials have no result: {named}. Find out what writes there, an agent's program "
                "or a hook. --eval-resume runs these trials again. Remove folders that belong to no trial of "
                "this run."
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look at the runs of tests by hand, and make a session that lost records red."""
        self._add(self._keeping.take_fresh())
        for owner, known in self._known.items():
            root = Path(owner)
            if root.is_absolute() and root.is_dir():
                self._tell(RunStore(root), list(known.find_changed(root)))
        if self.problems and int(session.exitstatus) in (0, 1):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the records."""
        for problem in self.problems:
            terminalreporter.section("eval records changed", red=True)
            terminalreporter.line(problem, red=True)
