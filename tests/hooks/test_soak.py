"""A run that is killed over and over (``-m soak``): nothing finished is lost, nothing is counted twice."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.lines import read_bytes
from pytest_browsereval.runs.run import StoredRun
from tests.hooks.launched import FUNCTION, PATIENCE_S, Launched, write_agent
from tests.hooks.small_evals import Evals, errored_row, row

KILLS = 50
"""How often something is killed, over as many runs as that takes."""
ROWS = 30
MOST_ROWS = 8
"""How many rows may begin from one kill to the next."""

WORKS = """
async def solve(context):
    name = context.task.query_id
    with (pathlib.Path(str(context.base_dir)) / "calls.txt").open("a") as file:
        file.write(name + chr(10))
    await asyncio.sleep(0.05 + int(name[1:]) * 5 % 7 / 20)
    return "wrong" if name.endswith("7") else "right"
"""

# Less than the tier has: what is ended from outside cannot say how far it came.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_400)]


class Killed:
    """An eval whose runs are killed."""

    def __init__(self, evals: Evals, dice: random.Random) -> None:
        self.evals = evals
        self.dice = dice
        self.kills: list[str] = []
        """What was killed."""
        self.start_s = 3.0
        """How long the last session took to begin a row: longer on a machine that is busy."""

    @property
    def run_folder(self) -> Path | None:
        """The newest run, if its session came so far."""
        top = self.evals.path / "results/shop"
        return max(top.iterdir(), default=None) if top.is_dir() else None

    def calls(self) -> list[str]:
        """Return the rows that agents were at, in order."""
        file = self.evals.path / "calls.txt"
        return file.read_text().split() if file.exists() else []

    def session(self, left: int, *args: str) -> None:
        """Resume a run that lacks some rows until it ends or pytest is killed; others die meanwhile."""
        before, started = len(self.calls()), time.monotonic()
        run = Launched(self.evals, "shop.eval.yaml", *args)
        try:
            while run.process.poll() is None:
                begun = len(self.calls()) - before
                if not begun and self.dice.random() < 0.4:
                    self._rest(run, self.start_s)
                else:
                    further = min(self.dice.randint(1, MOST_ROWS), left - begun)
                    self._wait(run, before + begun + further)
                    self.start_s = self.start_s if begun else time.monotonic() - started
                    # Of work on a row, or of a session's end.
                    self._rest(run, 0.4 if begun + further < left else 1.5)
                self._kill(run)
            if "INTERNALERROR" in run.output:  # xdist's, if a worker dies while it is set up
                assert run.process.returncode in {pytest.ExitCode.INTERNAL_ERROR, -signal.SIGKILL}, run.output
                assert "xdist" in run.output.partition("INTERNALERROR")[2], run.output
        finally:
            run.wait()
        run.assert_nothing_left()

    def _rest(self, run: Launched, longest_s: float) -> None:
        """Let a random part of some time go by."""
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(self.dice.uniform(0, longest_s))

    def _wait(self, run: Launched, calls: int) -> None:
        """Wait until so many rows have begun, or the session is over."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.calls()) < calls and run.process.poll() is None:
            assert time.monotonic() < deadline, run.output
            time.sleep(0.02)

    def _kill(self, run: Launched) -> None:
        if len(self.kills) == KILLS:  # the last run may come to its end
            return
        victims = dict(self._victims(run))
        if victims:
            kind = self.dice.choice(sorted(victims))
            try:
                victims[kind].kill()
            except psutil.NoSuchProcess:
                return
            self.kills.append(kind)

    def _victims(self, run: Launched) -> Iterator[tuple[str, psutil.Process]]:
        for process in run.processes():
            try:
                words = process.cmdline()
                is_one = is_worker(process, words)
            except psutil.Error:
                continue
            if process.pid == run.process.pid:
                yield "pytest", process
            elif is_one:
                yield "worker", process
            elif any("--remote-debugging-pipe" in word for word in words) and not any(
                word.startswith("--type=") for word in words
            ):
                yield "browser", process
            elif "run-driver" in words:
                yield "driver", process


def is_worker(process: psutil.Process, words: list[str]) -> bool:
    """Whether it is one of pytest-xdist's; one that was forked has threads, a template has none."""
    is_forked = any("be_template" in word for word in words)
    return (is_forked and process.num_threads() > 1) or any("exec(eval(sys.stdin" in word for word in words)


def judged(run: Path | None) -> dict[str, bytes]:
    """Return the lines of judged attempts, by their folders: one without a line is not finished."""
    found = {}
    for one in StoredRun(run).attempts if run else ():
        if run and one.line and one.verdict is not Verdict.ERRORED:
            found[one.place] = read_bytes(run, one.line)
    return found


def names(places: dict[str, bytes]) -> set[str]:
    return {place.split("/")[1] for place in places}


def told(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what a summary says of verdicts and rates, in the order of the rows."""
    rates = {key: value for key, value in summary.items() if key.startswith(("pass", "fail", "err", "trial"))}
    rows = sorted((one["query_id"], one["verdict"], one["error_source"]) for one in summary["results"])
    return {**rates, "results": rows}


def written(evals: Evals) -> Evals:
    write_agent(evals, WORKS)
    evals.write_rows(*(row(f"r{number}") for number in range(ROWS)), errored_row("unreachable"))
    evals.write_config(browser="playwright", agent=FUNCTION, lanes=3, retries=KILLS)
    return evals


def test_a_run_that_is_killed_over_and_over_ends_as_if_nothing_had_happened(evals: Evals) -> None:
    """pytest, a worker, the browser or its driver, at random moments; then the run is resumed."""
    seed = random.randrange(10**6)  # noqa: S311 -- told if it fails, not a secret
    killed = Killed(written(evals), random.Random(seed))  # noqa: S311 -- the same
    finished: list[dict[str, Any]] = []
    before: dict[str, bytes] = {}
    while len(killed.kills) < KILLS or before:
        run, calls = killed.run_folder if before else None, len(killed.calls())
        args = ["-n2"] * killed.dice.randrange(2)
        args += [] if run is None else [f"--eval-resume={run.name}"]
        killed.session(ROWS - len(names(before)), *args)
        after = judged(killed.run_folder)
        print(f"seed {seed}: {len(killed.kills)} kills, {len(after)} judged")  # noqa: T201 shown if it fails
        lost = {file for file, data in before.items() if after.get(file) != data}
        assert not lost, f"seed {seed}: finished attempts were lost or changed: {sorted(lost)[:5]}"
        again = names(before) & set(killed.calls()[calls:])
        assert not again, f"seed {seed}: judged rows were run again: {sorted(again)[:5]}"
        before = after
        if len(names(after)) == ROWS:
            finished.append(_ended(killed, evals))
            before = {}
    assert len(set(map(str, finished))) == 1, f"seed {seed}: {finished}"
    undisturbed = Launched(evals, "shop.eval.yaml")
    assert undisturbed.wait() == 1, undisturbed.output
    assert told(evals.summary()) == finished[0], f"seed {seed}"
    kinds = {kind: killed.kills.count(kind) for kind in ("pytest", "worker", "browser", "driver")}
    assert sum(kinds.values()) == KILLS
    assert all(kinds.values()), kinds


def _ended(killed: Killed, evals: Evals) -> dict[str, Any]:
    """Let a run whose rows are all judged come to its end; return what its summary tells."""
    folder = killed.run_folder
    assert folder is not None
    last = Launched(evals, "shop.eval.yaml", f"--eval-resume={folder.name}")
    assert last.wait() == 1, last.output
    summary = evals.summary()
    assert summary["trials"] == len(summary["results"]) == ROWS + 1
    assert summary["errored"] == 1
    return told(summary)
