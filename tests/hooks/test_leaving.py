"""Code of an attempt that ends the process: never a green run, and the next command knows what it lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.quick

AGENT = """
import ctypes, os, threading

def solve(context):
    if context.task.query_id == "leaves":
        LEAVE
    return "right"

async def solve_on_loop(context):
    return solve(context)

def leave_in_a_thread():
    thread = threading.Thread(target=os._exit, args=(0,))
    thread.start()
    thread.join()

def fork():
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
"""


def write(evals: Evals, leave: str, function: str = "solve") -> None:
    """Write an eval whose second row ends the process."""
    evals.pytester.makepyfile(own=AGENT.replace("LEAVE", leave))
    evals.write_rows(row("a"), row("leaves"), row("c"))
    agent = {"type": "function", "function": f"own:{function}"}
    evals.write_config(agent=agent, gate={"min_pass_rate": 0.1, "max_error_rate": 0.1})


@pytest.mark.slow
@pytest.mark.parametrize("function", ["solve", "solve_on_loop"])
def test_a_row_that_leaves_is_errored(evals: Evals, function: str) -> None:
    """``os._exit(0)`` in an agent errs its row and says so; the other rows are run."""
    write(evals, "os._exit(0)", function)
    result = evals.run_process("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["xfailed"] == 1
    attempt = result.attempt("leaves")
    assert attempt.error_source == "agent"
    assert "it called os._exit(0)" in attempt.reason
    assert result.attempt("c").verdict == "passed"


def test_a_thread_that_leaves_makes_no_green_run(evals: Evals) -> None:
    """A thread of the agent's own ends the process, with exit code 3 and a word of it."""
    write(evals, "leave_in_a_thread()")
    result = evals.run_process("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "something has called os._exit(0): the run is incomplete" in result.stderr.str()


def test_a_run_that_was_left_is_unfinished(evals: Evals) -> None:
    """What cannot be stopped from leaving is found by the next command: the run lacks rows, and resumes."""
    write(evals, "ctypes.CDLL(None)._exit(0)")
    assert evals.run_process("shop.eval.yaml").ret == 0, "nothing of Python was asked"
    gate = evals.run_command("gate", "latest", "--config", "shop.eval.yaml")
    assert gate.ret == 1
    assert "the run was ended before its summary.json was written" in gate.stdout.str()
    evals.pytester.makepyfile(own=AGENT.replace("LEAVE", "pass"))
    again = evals.run("--eval-config=shop.eval.yaml", "--eval-resume", "--eval-set=retries=1")
    assert again.ret == 0
    assert "1 cut off before" in again.stdout.str()


RULE = """
import os, sys, threading
from typing import Literal
from pytest_browsereval import GateRule

class Leaves(GateRule):
    type: Literal["leaves"] = "leaves"

    def check(self, trials):
        LEAVE

def pytest_browsereval_register(registry):
    registry.register(Leaves)

def leave_in_a_thread():
    thread = threading.Thread(target=os._exit, args=(256,))
    thread.start()
    thread.join()
"""
LEAVES = ["os._exit(0)", "leave_in_a_thread()", "sys.exit(0)", "raise SystemExit(0)"]


def write_rule(evals: Evals, leave: str) -> None:
    """Write an eval that does not meet its gate, one rule of which ends the process."""
    evals.pytester.makeconftest(RULE.replace("LEAVE", leave))
    evals.write_rows(row("a", says="wrong"))
    evals.write_config(gate={"min_pass_rate": 1, "rules": [{"type": "leaves"}]}, browser="playwright")


@pytest.mark.parametrize("leave", LEAVES)
def test_a_rule_that_leaves_makes_no_green_gate(evals: Evals, leave: str) -> None:
    """``browsereval gate`` ends with 3 where a plug-in ends the process, and with 1 where it raises."""
    write_rule(evals, "return None")
    evals.write_config(gate={"min_pass_rate": 1})
    run = evals.run("shop.eval.yaml").folder
    write_rule(evals, leave)
    command = [sys.executable, "-m", "pytest_browsereval", "gate", str(run), "--config", "shop.eval.yaml"]
    done = subprocess.run(command, cwd=evals.path, capture_output=True, text=True, timeout=600, check=False)
    if "_exit" in leave or "thread" in leave:
        assert done.returncode == 3
        assert "something has called os._exit(0), so there is no outcome" in done.stderr
    else:
        assert done.returncode == 1
        assert "the rule 'leaves' broke: SystemExit: 0" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("place", ["index", "summary"])
def test_a_plug_in_that_leaves_outside_of_items_makes_no_green_session(evals: Evals, place: str) -> None:
    """Rows are collected, and summaries handed over, by the code of plug-ins too."""
    hook = "def pytest_browsereval_run_summary(): os._exit(0)\n" if place == "summary" else ""
    hook += "def pytest_collection_modifyitems(): os._exit(0)\n" if place == "index" else ""
    evals.pytester.makeconftest(f"import os\n{hook}")
    evals.write([row("a")])
    result = evals.run_process("--eval-config=shop.eval.yaml")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "something has called os._exit(0)" in result.stderr.str()


@pytest.mark.parametrize("call", ["sys.exit(0)", "pytest.exit('so', 0)", "pytest.exit('so', 256)"])
@pytest.mark.parametrize("hook", ["sessionfinish", "terminal_summary"])
def test_a_plug_in_that_exits_at_the_end_keeps_the_exit_code(evals: Evals, hook: str, call: str) -> None:
    """A failed row is not excused by whoever ends pytest while it is reported."""
    evals.pytester.makeconftest(f"import pytest, sys\ndef pytest_{hook}():\n    {call}\n")
    result = evals.play([row("a", says="wrong")])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "at the end of the session: it still ends with 1" in result.stderr.str()


def test_an_exit_code_that_the_system_takes_for_0_is_none(evals: Evals) -> None:
    """The system keeps eight bits of 256."""
    evals.pytester.makeconftest("import pytest\ndef pytest_runtest_setup():\n    pytest.exit('so', 256)\n")
    assert evals.play([row("a")]).ret == pytest.ExitCode.INTERNAL_ERROR
