"""Attempts that run ahead of an interrupt: what is on record counts, and no record comes later."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_browsereval import AgentContext, AgentEvaluator, AgentResult
from tests.hooks.launched import wait_for
from tests.hooks.small_evals import Evals, row


class Interrupt:
    """Interrupts the session after the report of ``first``, while ``ahead`` is at work."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    def pytest_browsereval_create_agent(self, context: AgentContext) -> AgentEvaluator:
        return Agent(self, context.task.query_id)

    def pytest_runtest_logfinish(self) -> None:
        raise KeyboardInterrupt

    def pytest_browsereval_run_summary(self, run_folder: Path) -> None:
        """Let the agent answer now: a record that it still comes to is late."""
        self.released.set()
        wait_for(lambda: not list((run_folder / "in-flight").iterdir()), "it has ended")


class Agent(AgentEvaluator):
    """Answers once the other one is at work, or once it is released."""

    def __init__(self, interrupt: Interrupt, name: str) -> None:
        self._interrupt, self._is_ahead = interrupt, name == "ahead"

    async def execute(self) -> AgentResult:
        interrupt = self._interrupt
        if self._is_ahead:
            interrupt.begun.set()
            await asyncio.to_thread(interrupt.released.wait)
        else:
            await asyncio.to_thread(interrupt.begun.wait)
        return AgentResult("right")


def list_recorded(run_folder: Path) -> Iterator[str]:
    """Yield the rows of a run that have a record."""
    for file in run_folder.glob("attempts/*.jsonl"):
        yield from (json.loads(line)["query_id"] for line in file.read_bytes().splitlines())


def test_no_record_comes_after_the_summary_of_an_interrupted_run(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs ahead ends before: a later record would read as a changed run."""
    monkeypatch.setattr("pytest_browsereval.hooks.prefetch.CLOSE_GRACE_S", 30)
    evals.write([row("first"), row("ahead")], lanes=2)
    run = evals.run(plugins=[Interrupt()])
    assert run.ret == 2
    assert list(list_recorded(run.folder)) == [one["query_id"] for one in evals.summary()["results"]]
    run.stdout.fnmatch_lines(["not run: 1 of 2 trials:", "*::ahead"])
    gate = evals.run_command("gate", str(run.folder))
    assert "Restore what was changed" not in gate.stdout.str() + gate.stderr.str()
