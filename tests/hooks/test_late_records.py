"""Attempts that run ahead of an interrupt: what is on record counts, and no record comes later."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from pytest_browsereval import (
    AgentContext,
    AgentEvaluator,
    AgentResult,
    GraderConfig,
    GraderResult,
    Recorded,
    Registry,
    Verdict,
)
from tests.hooks.launched import wait_for
from tests.hooks.small_evals import Evals, row


class Interrupt:
    """Interrupts the session after the report of ``first``, while ``ahead`` is at work."""

    def __init__(self, *, is_judging: bool = False) -> None:
        self.is_judging = is_judging
        self.begun, self.released = threading.Event(), threading.Event()
        Stubborn.interrupt = self

    def pytest_browsereval_create_agent(self, context: AgentContext) -> AgentEvaluator:
        return Agent(self, context.task.query_id)

    def pytest_browsereval_register(self, registry: Registry) -> None:
        registry.register(Stubborn)

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
        if self._is_ahead and not interrupt.is_judging:
            interrupt.begun.set()
            await asyncio.to_thread(interrupt.released.wait)
        elif not self._is_ahead:
            await asyncio.to_thread(interrupt.begun.wait)
        return AgentResult("right")


class Stubborn(GraderConfig):
    """Judges the row ``ahead`` once it is released, though it was cancelled."""

    type: Literal["stubborn"] = "stubborn"
    interrupt: ClassVar[Interrupt]

    async def grade(self, recorded: Recorded) -> GraderResult:
        if recorded.task.query_id == "ahead" and self.interrupt.is_judging:
            self.interrupt.begun.set()
            while not self.interrupt.released.is_set():
                with suppress(asyncio.CancelledError):
                    await asyncio.to_thread(self.interrupt.released.wait)
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, score=1.0)


def list_recorded(run_folder: Path) -> Iterator[str]:
    """Yield the rows of a run that have a record."""
    for file in run_folder.glob("attempts/*.jsonl"):
        yield from (json.loads(line)["query_id"] for line in file.read_bytes().splitlines())


@pytest.mark.parametrize("is_judging", [False, True], ids=["agent", "grader"])
def test_no_record_comes_after_the_summary_of_an_interrupted_run(
    evals: Evals,
    is_judging: bool,  # noqa: FBT001 both are tried
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What runs ahead ends before, and what does not end has none: it would read as a changed run."""
    monkeypatch.setattr("pytest_browsereval.hooks.prefetch.CLOSE_GRACE_S", 0.1 if is_judging else 30)
    evals.write([row("first", graders=["stubborn"]), row("ahead", graders=["stubborn"])], lanes=2)
    run = evals.run(plugins=[Interrupt(is_judging=is_judging)])
    assert run.ret == 2
    assert list(list_recorded(run.folder)) == [one["query_id"] for one in evals.summary()["results"]]
    run.stdout.fnmatch_lines(["not run: 1 of 2 trials:", "*::ahead"])
    gate = evals.run_command("gate", str(run.folder))
    assert "Restore what was changed" not in gate.stdout.str() + gate.stderr.str()
