"""The page of each run, written when its summary is: ``index.html`` in the run folder."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.report.links import PAGE


class Viewing:
    """Writes the page. That it cannot be written is told in a line and never breaks a run."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_browsereval_run_summary(self, run_folder: Path) -> Generator[None, Any, Any]:
        """Write it after plug-ins have had the summary, also if one of them breaks."""
        try:
            return (yield)
        finally:
            self._write(run_folder)

    def _write(self, run_folder: Path) -> None:
        from pytest_browsereval.report.viewer.writing import write_viewer

        if not (run_folder / "tasks").is_dir():  # no attempt was made
            return
        try:
            write_viewer(run_folder)
        except Exception as error:  # noqa: BLE001 the run is over and recorded: a page of it is no part of it
            message = f"{type(error).__name__}: {error}".partition("\n")[0]
            self.problems.append(
                f"{run_folder / PAGE} was not written: {message}. Later: browsereval view {run_folder}"
            )

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell what was not written."""
        for problem in self.problems:
            terminalreporter.line(problem, yellow=True)
