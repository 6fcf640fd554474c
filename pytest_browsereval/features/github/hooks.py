"""GitHub Actions: the job's summary, and annotations, where pytest runs in a job.

A job reads each line of its output that begins with ``::``, or has ``##[``, as a command. What pages and
agents say is printed as well, so a session in a job lets only its own commands through.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.github.plugin import SUMMARY
from pytest_browsereval.features.github.summary import MOST_BYTES, JobPart, annotations_of, job_summary
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.runs.summary import RunSummary


def without_commands(text: str) -> str:
    """Return text without commands, line for line."""
    return re.sub(r"(?m)^(\s*):(?=:)", r"\1: ", text).replace("##[", "## [")


class Commands:
    """Stops the commands of a GitHub Actions job for the time of a session.

    The word that ends this stands in the log of the job, which no page and no agent can read.

    Args:
        config: pytest's.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        word = secrets.token_hex(16)
        self.stop = f"::stop-commands::{word}"
        self.resume = f"::{word}::"

    def start(self) -> None:
        """Stop them until the session is over, even by an error: other steps of the job need them."""
        self._print(self.stop)
        self._config.add_cleanup(lambda: self._print(self.resume))

    def _print(self, command: str) -> None:
        """Write to the terminal, past pytest's capture, on a line of its own."""
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            sys.stdout.write(f"\n{command}\n")
            sys.stdout.flush()


class GitHub:
    """Reports the result of each eval to GitHub.

    Args:
        controller: knows what the run folders say.
        commands: lets the job take commands; None outside of one.
    """

    def __init__(self, controller: Controller, commands: Commands | None) -> None:
        self._controller = controller
        self._commands = commands

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Append to the summary, and print the commands for annotations."""
        parts = {owner: self._part(owner, summary) for owner, summary in self._controller.summaries.items()}
        if not parts:
            return
        if file := os.environ.get(SUMMARY):
            self._append(Path(file), list(parts.values()), terminalreporter)
        if self._commands is not None:
            workspace = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
            lines: list[str] = []
            for owner, part in parts.items():
                places = {entry.key: entry.ref for entry in owner.plan.entries()}
                lines += annotations_of(part, places, workspace)
            for line in (self._commands.resume, *lines, self._commands.stop) if lines else ():
                terminalreporter.line(line)

    def _part(self, owner: ActiveRun, summary: RunSummary) -> JobPart:
        return JobPart(
            name=self._controller.label(owner),
            folder=owner.store.root,
            summary=summary,
            selected=self._controller.count_selected(owner),
            rules=[rule for one, _, rule in self._controller.gating.results if one is owner],
            more=self._controller.lines_beside.get(owner, ()),
            is_expected=owner.config.expects,
        )

    def _append(self, file: Path, parts: list[JobPart], out: Any) -> None:
        try:
            room = MOST_BYTES - (file.stat().st_size if file.exists() else 0)
            with file.open("a", encoding="utf-8") as target:
                target.write(job_summary(parts, room))
        except OSError as error:
            out.line(f"{SUMMARY}: {file} cannot be written: {error.strerror}")
