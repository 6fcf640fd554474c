"""The page of each run, written when its summary is: ``index.html`` in the run folder."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.report.links import PAGE


class Viewing:
    """Writes the page. That it cannot be written is told in a line and never breaks a run."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.problems: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_browsereval_run_summary(self, run_folder: Path) -> Generator[None, Any, Any]:
        """Write it after plug-ins have had the summary, also if one of them breaks."""
        try:
            return (yield)
        finally:
            self._write(run_folder)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Add what the gate came to, which is decided after the summary."""
        from pytest_browsereval.features.view.gate import describe_gate, put_gate, words_of

        results = self._controller.gating.results
        for store in dict.fromkeys(active_run.store for active_run, _, _ in results):
            rules = [words_of(rule) for active_run, _, rule in results if active_run.store is store]
            if (store.root / PAGE).is_file():
                try:
                    put_gate(store.root / PAGE, describe_gate(store.run, rules))
                except OSError as error:
                    self._tell(store.root, error)

    def _write(self, run_folder: Path) -> None:
        from pytest_browsereval.features.shared.viewer.writing import write_viewer

        if not (run_folder / "tasks").is_dir():  # no attempt was made
            return
        try:
            write_viewer(self._controller.session.door, run_folder)
        except Exception as error:  # noqa: BLE001 the run is over and recorded: a page of it is no part of it
            self._tell(run_folder, error)

    def _tell(self, run_folder: Path, error: Exception) -> None:
        message = f"{type(error).__name__}: {error}".partition("\n")[0]
        self.problems.append(
            f"{run_folder / PAGE} was not written: {message}. Later: browsereval view {run_folder}"
        )

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell what was not written."""
        for problem in self.problems:
            terminalreporter.line(problem, yellow=True)
