"""pytest runs that are killed, interrupted or cut off: started in the background, searched for leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from pytest_browsereval.model.results import TaskMetadata
from tests.forks import Forked
from tests.hooks.small_evals import Evals

MARK = "BROWSEREVAL_TEST_MARK"
PATIENCE_S = 120.0
"""A machine under load; nothing here waits that long by itself."""

FUNCTION = {"type": "function", "function": "my_agent:solve"}


START = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(one, signal.SIG_DFL)
sys.exit(pytest.main())
"""
"""Starts pytest: a job in the background of a script inherits signals that are ignored."""


def wait_for(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.05)


class Launched:
    """A pytest process of its own session, whose descendants can be told from all others."""

    def __init__(
        self, evals: Evals, *args: str, env: dict[str, str] | None = None, by: Sequence[str] = ()
    ) -> None:
        self._evals = evals
        self._mark = uuid4().hex
        temp = evals.path / "tmp"
        temp.mkdir(exist_ok=True)
        self.args = [*evals.options, *args]
        command = [*by, sys.executable, "-c", START, *self.args]
        self._output = (evals.path / "output.txt").open("wb")
        self.process = Forked(
            command,
            cwd=evals.path,
            env={**os.environ, MARK: self._mark, "TMPDIR": str(temp), **(env or {})},
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def has_begun(self, *names: str) -> bool:
        """Whether the agents of these rows are at work; see ``BEGINS``."""
        return all((self._evals.path / f"{name}.begun").exists() for name in names)

    def send(self, number: int, *, to_all: bool = False) -> None:
        """Send a signal to pytest, or to its process group as a terminal does."""
        if to_all:
            os.killpg(self.process.pid, number)
        else:
            os.kill(self.process.pid, number)

    def wait(self) -> int:
        """Wait for the end; returns the exit code."""
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """End what is left of it, if it hangs."""
        self._output.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    @property
    def output(self) -> str:
        return (self._evals.path / "output.txt").read_text(encoding="utf-8", errors="replace")

    def processes(self) -> list[psutil.Process]:
        """Return what is alive of pytest, its workers, drivers, browsers and sites."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and self._is_ours(process):
                    found.append(process)
            except (psutil.Error, ProcessLookupError):
                continue
        return found

    def _is_ours(self, process: psutil.Process) -> bool:
        # One that was forked from the template has the template's arguments and environment in /proc.
        has_mark = process.environ().get(MARK) == self._mark or os.getsid(process.pid) == self.process.pid
        return has_mark or any(str(self._evals.path) in word for word in process.cmdline())

    def assert_nothing_left(self) -> None:
        """Assert that all of these end by themselves, soon."""
        wait_for(lambda: not self.processes(), "all processes have ended")


BEGINS = """
import asyncio, pathlib, sys, time
import pytest

def begins(context):
    (pathlib.Path(str(context.base_dir)) / f"{context.task.query_id}.begun").touch()
    return context.task.query_id
"""
"""The head of an agent that tells the test which row it is at."""


def write_agent(evals: Evals, code: str, name: str = "my_agent") -> None:
    """Write an agent's module."""
    (evals.path / f"{name}.py").write_text(BEGINS + code)


def metadata(folder: Path, query_id: str) -> TaskMetadata:
    """Return the metadata of a row's last attempt."""
    path = max(folder.glob(f"tasks/{query_id}/*/*/attempt-*/metadata.json"))
    return TaskMetadata.model_validate_json(path.read_bytes())


def verdicts(summary: dict[str, Any]) -> dict[str, str]:
    """Return each row's verdict, with the source of an error or an early end."""
    return {row["query_id"]: _told(row) for row in summary["results"]}


def _told(row: dict[str, Any]) -> str:
    early = "" if row["termination_reason"] in ("completed", "error") else f" ({row['termination_reason']})"
    return f"{row['verdict']} ({row['error_source']})" if row["error_source"] else row["verdict"] + early


def files_with(folder: Path, *texts: str) -> list[str]:
    """Return the files below a folder that hold one of the texts, as they are or as JSON writes them."""
    needles = [form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


def go(evals: Evals, *args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run pytest to its end, prove that nothing is left of it, and return exit code and output."""
    run = Launched(evals, "shop.eval.yaml", *args, env=env)
    code = run.wait()
    run.assert_nothing_left()
    assert "INTERNALERROR" not in run.output, run.output
    return code, run.output
