"""GitHub Actions: the job's summary, and annotations, where pytest runs in a job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.gating import Gating
from pytest_browsereval.report.github import MOST_BYTES, JobPart, annotations_of, job_summary
from pytest_browsereval.run.evaluation import Evaluation

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Names the file that a step's summary is appended to."""


class GitHub:
    """Tells GitHub what each eval has come to.

    Args:
        controller: knows what the run folders say.
        gating: knows what the gates say.
    """

    def __init__(self, controller: Controller, gating: Gating) -> None:
        self._controller = controller
        self._gating = gating

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Append to the summary, and print the commands for annotations."""
        parts = {owner: self._part(owner, summary) for owner, summary in self._controller.summaries.items()}
        if not parts:
            return
        if file := os.environ.get(SUMMARY):
            self._append(Path(file), list(parts.values()), terminalreporter)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            workspace = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
            for owner, part in parts.items():
                places = {entry.key: entry.ref for entry in owner.plan.entries()}
                for line in annotations_of(part, places, workspace):
                    terminalreporter.line(line)

    def _part(self, owner: Evaluation, summary: RunSummary) -> JobPart:
        gate = owner.config.gate
        return JobPart(
            name=owner.config.name,
            folder=owner.store.root,
            summary=summary,
            selected=self._controller.selected(owner),
            rules=[rule for one, _, rule in self._gating.results if one is owner],
            are_rows_expected=owner.config.is_gated and gate.rows == "xfail",
        )

    def _append(self, file: Path, parts: list[JobPart], out: Any) -> None:
        try:
            room = MOST_BYTES - (file.stat().st_size if file.exists() else 0)
            with file.open("a", encoding="utf-8") as target:
                target.write(job_summary(parts, room))
        except OSError as error:
            out.line(f"{SUMMARY}: {file} cannot be written: {error.strerror}")
