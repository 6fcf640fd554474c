"""Runs that are cut off: Ctrl-C, SIGTERM, SIGKILL. Nothing stays behind, and what has finished is kept."""

from __future__ import annotations

import json
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.runs.run import StoredRun
from tests.hooks.launched import FUNCTION, Launched, verdicts, wait_for, write_agent
from tests.hooks.small_evals import Evals, row

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")]

AGENT = """
async def solve(context):
    if begins(context).startswith("slow"):
        await asyncio.sleep(1000)
    return "right"

def block(context):
    if begins(context).startswith("slow"):
        time.sleep(1000)
    return "right"
"""
LEAVING = """
import os, signal

async def solve(context):
    if begins(context) == "leaves":
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(1000)
    return "right"
"""
APP = """
import http.server, os
with open(os.environ["COPIES"], "a") as copies:
    print(os.getcwd(), file=copies)
http.server.test(http.server.SimpleHTTPRequestHandler, port=int(os.environ["PORT"]), bind="127.0.0.1")
"""


@pytest.fixture
def launched(evals: Evals, request: pytest.FixtureRequest) -> Iterator[Launched]:
    """Return a run of which two rows have passed, and all lanes of all processes are busy for long."""
    args, function = request.param
    write_agent(evals, AGENT)
    (evals.path / "app.py").write_text(APP)
    (evals.path / "template").mkdir()
    rows = ["r0", "r1", *(f"slow{number}" for number in range(8))]
    evals.write_rows(*(row(name, start_url="{app}/") for name in rows))
    site = {
        "command": [sys.executable, str(evals.path / "app.py")],
        "data": "template",
        "cwd": "{data}",
        "env": {"COPIES": str(evals.path / "copies")},
        "health_timeout_s": 120,
    }
    evals.write_config(
        agent={**FUNCTION, "function": function}, lanes=2, sites={"app": site}, browser="playwright"
    )
    run = Launched(evals, "shop.eval.yaml", "-v", "--junit-xml=junit.xml", *args)
    try:
        busy = ["slow0", "slow1", *(["slow2", "slow3"] if "-n2" in args else [])]
        wait_for(lambda: run.has_begun(*busy) or run.process.poll() is not None, "agents are at work")
        # On disk is not enough: a worker's report may still be on its way to the controller.
        wait_for(lambda: len(finished(evals)) == run.output.count(" PASSED") == 2, "two rows are reported")
        yield run
    finally:
        run.kill()


def finished(evals: Evals) -> list[Path]:
    files = evals.path.glob("results/shop/*/tasks/*/*/*/*/metadata.json")
    return [file for file in files if json.loads(file.read_bytes())["verdict"] == "passed"]


def assert_no_copy_left(evals: Evals) -> None:
    copies = (evals.path / "copies").read_text().split()
    wait_for(lambda: not any(Path(copy).exists() for copy in copies), "the copies of the data are removed")


def assert_ended_well(launched: Launched, evals: Evals) -> None:
    assert launched.wait() == 2, launched.output
    assert "never retrieved" not in launched.output
    assert_no_copy_left(evals)
    command = shlex.join(["pytest", *launched.args, f"--eval-resume={evals.run_folder().name}"])
    launched.assert_nothing_left()
    assert verdicts(evals.summary()) == {"r0": "passed", "r1": "passed"}
    assert evals.summary()["selected"] == 10
    assert "8 not run" in launched.output
    assert "not run: 8 of 10 trials:\n  shop.eval.yaml::slow0\n" in launched.output
    assert f"\nResume the run with\n  {command}\n" in launched.output
    cases = ET.parse(evals.path / "junit.xml").getroot().iter("testcase")  # noqa: S314 our own file
    assert {"r0", "r1"} <= {case.get("name") for case in cases}


ALONE, BLOCKING = ((), "my_agent:solve"), ((), "my_agent:block")
WORKER, WORKERS = (("-n1",), "my_agent:solve"), (("-n2",), "my_agent:solve")


@pytest.mark.parametrize("launched", [ALONE, WORKER], indirect=True, ids=["lanes", "worker"])
def test_ctrl_c_keeps_what_has_finished(launched: Launched, evals: Evals) -> None:
    """SIGINT to all processes: exit code 2, the finished rows in summary and JUnit, nothing left running."""
    launched.send(signal.SIGINT, to_all=True)
    assert_ended_well(launched, evals)


@pytest.mark.parametrize("launched", [WORKERS], indirect=True, ids=["workers"])
def test_ctrl_c_for_the_controller_ends_the_workers(launched: Launched, evals: Evals) -> None:
    """SIGINT to the controller alone ends workers, browsers and sites as well."""
    launched.send(signal.SIGINT)
    assert_ended_well(launched, evals)


@pytest.mark.parametrize("launched", [ALONE], indirect=True, ids=["lanes"])
def test_sigterm_for_all_ends_drivers_in_order(launched: Launched, evals: Evals) -> None:
    """SIGTERM to all processes, as a container sends it: drivers die before pytest lets go of them."""
    launched.send(signal.SIGTERM, to_all=True)
    assert_ended_well(launched, evals)


@pytest.mark.parametrize("launched", [BLOCKING], indirect=True, ids=["threads"])
def test_sigterm_is_an_interruption(launched: Launched, evals: Evals) -> None:
    """SIGTERM ends a run as Ctrl-C does, also one whose agents block in threads."""
    launched.send(signal.SIGTERM)
    assert_ended_well(launched, evals)
    assert "Terminated: ended by SIGTERM" in launched.output


@pytest.mark.parametrize("launched", [ALONE, WORKER], indirect=True, ids=["lanes", "worker"])
def test_a_killed_run_leaves_no_process(launched: Launched, evals: Evals) -> None:
    """SIGKILL to pytest: workers, browsers and sites end by themselves; finished attempts can be read."""
    launched.send(signal.SIGKILL)
    assert launched.wait() == -signal.SIGKILL
    launched.assert_nothing_left()
    assert_no_copy_left(evals)
    summary = StoredRun(evals.run_folder()).summary
    assert verdicts(summary.as_json()) == {"r0": "passed", "r1": "passed"}


def temporary_folders(evals: Evals) -> list[str]:
    return sorted(path.name for path in (evals.path / "tmp").glob("*browsereval-*"))


@pytest.fixture
def busy(evals: Evals) -> Iterator[Launched]:
    """Return a run of a worker that is busy for long."""
    write_agent(evals, AGENT)
    evals.write([row(f"slow{number}") for number in range(4)], agent=FUNCTION, lanes=2)
    run = Launched(evals, "shop.eval.yaml", "-n1")
    try:
        wait_for(lambda: run.has_begun("slow0", "slow1") or run.process.poll() is not None, "agents work")
        assert len(temporary_folders(evals)) == 1
        yield run
    finally:
        run.kill()


@pytest.mark.parametrize("to", ["group", "controller"])
@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT", "SIGTERM"])
def test_signals_that_end_a_run_leave_nothing(busy: Launched, evals: Evals, name: str, to: str) -> None:
    """A closed terminal or a cancelled job: exit code 2, no process and no temporary folder is left."""
    busy.send(signal.Signals[name], to_all=to == "group")
    assert busy.wait() == 2, busy.output
    busy.assert_nothing_left()
    assert temporary_folders(evals) == []
    assert f"ended by {name}" in busy.output


def test_a_signal_ends_a_run_whose_config_was_found_while_collecting(evals: Evals) -> None:
    """`pytest` without a file takes SIGTERM for an interruption too, and says how to resume the run."""
    write_agent(evals, LEAVING)
    evals.write([row("r0"), row("leaves")], agent=FUNCTION, lanes=1)
    run = Launched(evals)
    assert run.wait() == 2, run.output
    assert "ended by SIGTERM" in run.output
    assert "Resume the run with\n  pytest" in run.output
    assert verdicts(evals.summary())["r0"] == "passed"
