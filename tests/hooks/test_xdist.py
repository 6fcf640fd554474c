"""Workers: shares, deaths, lost items, one stop for all."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.hooks.launched import FUNCTION, Launched, verdicts, wait_for, write_agent
from tests.hooks.small_evals import Evals, row
from tests.support import has_ended

pytestmark = pytest.mark.slow

AGENT = """
import asyncio, os

async def solve(context):
    name = context.task.query_id
    if name.startswith("dies-always"):
        await asyncio.sleep(0.5)
        os._exit(77)
    return "right"
"""


@pytest.fixture
def own_agent(evals: Evals) -> Evals:
    (evals.path / "my_agent.py").write_text(AGENT)
    evals.write_config(agent=FUNCTION, lanes=4)
    return evals


HELD = """
async def solve(context):
    name = begins(context)
    folder = pathlib.Path(str(context.base_dir))
    while name.startswith("held") and not (folder / "go").exists():
        await asyncio.sleep(0.1)
    return "right"
"""


def in_flight(folder: Path) -> dict[int, list[str]]:
    """Return the rows that are in flight, by process."""
    found: dict[int, list[str]] = {}
    for path in folder.glob("results/*/*/in-flight/*.json"):
        try:
            told = json.loads(path.read_text())
        except (OSError, ValueError):  # being written, or just finished
            continue
        found.setdefault(told["pid"], []).append(told["node_id"].partition("::")[2])
    return found


def held(folder: Path) -> list[int]:
    """Return how many held rows are in flight in each process."""
    return [sum(name.startswith("held") for name in names) for names in in_flight(folder).values()]


def kill(pid: int) -> None:
    """Kill a worker, and wait until it cannot see any more what comes next."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: has_ended(pid), "the worker has ended")


def test_a_worker_that_is_killed_costs_only_what_was_in_flight_in_it(evals: Evals) -> None:
    """Its attempts in flight are made again; what it had finished, and all else, is made and counted once."""
    write_agent(evals, HELD)
    evals.write_config(browser="playwright", agent=FUNCTION, lanes=3)
    rows = [*(f"done{n}" for n in range(2)), *(f"held{n}" for n in range(8)), "last"]
    evals.write_rows(*map(row, rows))
    launched = Launched(evals, "shop.eval.yaml", "-n2", "--junit-xml=junit.xml")
    try:
        wait_for(lambda: held(evals.path) == [3, 3], "both workers have three rows in flight")
        time.sleep(0.5)  # a worker tells of its last line when nothing is in flight; no file shows when
        victim, lost = in_flight(evals.path).popitem()
        kill(victim)
        (evals.path / "go").touch()
        assert launched.wait() == 0, launched.output
    finally:
        launched.kill()
    results, folder = verdicts(evals.summary()), evals.run_folder()
    assert results == dict.fromkeys(rows, "passed")
    begun = Counter(path.parts[-4] for path in folder.glob("tasks/*/*/*/attempt-*"))
    assert begun == {name: 2 if name in lost else 1 for name in rows}
    assert len(list(folder.glob("tasks/*/*/*/attempt-*/metadata.json"))) == len(rows)
    cases = ET.parse(evals.path / "junit.xml").iter("testcase")  # noqa: S314 our own
    assert sorted(str(case.get("name")) for case in cases) == sorted(rows)
    launched.assert_nothing_left()


@pytest.mark.parametrize("dist", ["loadgroup", "loadfile"])
def test_rows_that_are_lost_are_named(own_agent: Evals, dist: str) -> None:
    """Without a replacement for a dead worker the run ends as incomplete, and names the rows it lacks."""
    own_agent.write_config(agent=FUNCTION)
    own_agent.write_rows(row("dies-always"), *(row(f"r{number}") for number in range(4)))
    result = own_agent.run_process(
        "shop.eval.yaml", "-n1", f"--dist={dist}", "--max-worker-restart=0", limit_s=120
    )
    assert result.ret == 3, result.stdout.str()
    result.stdout.fnmatch_lines(["incomplete: 4 of 5 items have no result:", "*::r0", "*::r3"])
    result.stdout.fnmatch_lines([f"  pytest *--max-worker-restart=0 --eval-resume={result.folder.name}"])


def test_a_lost_item_is_never_green(own_agent: Evals) -> None:
    """A value that cannot be sent kills the worker, and xdist alone would end with 0; here it is 3."""
    own_agent.write_rows(row("a"), row("b"))
    own_agent.pytester.makeconftest(
        """
        import pathlib, pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if call.when == "call":
                report.user_properties.append(("path", pathlib.Path("x")))
            return report
        """
    )
    result = own_agent.run("shop.eval.yaml", "-n2")
    assert result.ret == 3
    result.stdout.fnmatch_lines(["*incomplete: * of 2 items have no result*"])


NOTES_PROCESS = """
import asyncio, os, pathlib

async def solve(context):
    note = pathlib.Path(context.base_dir) / "row.pid"
    with note.open("a") as file:
        file.write(f"{os.getpid()} ")
    for _ in range(600):
        if len(note.read_text().split()) > 1:
            return "right"
        await asyncio.sleep(0.1)
    return "alone"
"""


def test_what_is_of_one_scope_is_run_by_one_worker(evals: Evals) -> None:
    """``--dist`` by file or class holds for ordinary tests and for rows.

    A worker takes of its scope as many rows as it has lanes: each of these waits for another one.
    """
    evals.pytester.makepyfile(
        test_first="""
        import os, pytest

        def write(name):
            with open(f"{name}.pid", "a") as file:
                file.write(f"{os.getpid()} ")

        class TestIt:
            def test_a(self):
                write("class")

            @pytest.mark.parametrize("n", ["a@1", "b@1"])
            def test_b(self, n):
                write("class")

        @pytest.mark.parametrize("n", range(6))
        def test_file(n):
            write("file")
        """
    )
    (evals.path / "my_agent.py").write_text(NOTES_PROCESS)
    evals.write_rows(*(row(f"r{n}") for n in range(6)))
    for dist, alone in (("loadfile", ["class", "file", "row"]), ("loadscope", ["class", "row"])):
        evals.write_config(agent=FUNCTION, lanes=3)
        result = evals.run("shop.eval.yaml", "test_first.py", "-n2", f"--dist={dist}")
        result.assert_outcomes(passed=15)
        for name in alone:
            assert len(set((evals.path / f"{name}.pid").read_text().split())) == 1, (dist, name)
        for path in evals.path.glob("*.pid"):
            path.unlink()


def test_no_trial_has_the_results_of_two_workers(evals: Evals) -> None:
    """``--dist each`` is refused however it is given, before any attempt, unless something overrides it."""
    evals.write([row("a")], gate={"min_pass_rate": 1.0})
    cases = (
        ("", ["-n2", "--dist", "each"], 4),
        ("", ["--tx=2*popen", "--dist=each"], 4),
        ("--dist=each", ["--tx=popen", "--tx=popen"], 4),
        ("--dist=each --tx=2*popen", ["-d"], 0),
        ("--dist=each", ["-n0"], 0),
    )
    for number, (added, args, code) in enumerate(cases):
        evals.pytester.makeini(f"[pytest]\naddopts = {added}")
        result = evals.run_process("shop.eval.yaml", *args, f"--eval-output=out{number}")
        assert result.ret == code, (added, args, result.stdout.str())
        assert ("use --eval-trials=2" in result.stdout.str() + result.stderr.str()) is (code == 4), args
        assert bool(list(evals.path.glob(f"out{number}/**/attempt-*"))) is (code == 0), args


def test_num_workers_is_divided_among_processes(evals: Evals) -> None:
    """``num_workers: 3`` with ``-n 2`` gives each process two lanes."""
    evals.write([row("a")], num_workers=3)
    result = evals.run("--eval-config=shop.eval.yaml", "-n2")
    result.stdout.fnmatch_lines(["eval shop: *2 lanes, in each of 2 processes*"])
