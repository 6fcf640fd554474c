"""Whole runs: what the code of attempts prints, logs and warns of stands with the attempt that it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.output import read_output
from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import Evals, row

AGENT = """
import logging, sys, threading, warnings

both = threading.Barrier(2)

def solve(context):
    me = context.task.query_id
    both.wait(30)
    print("begins", me)
    both.wait(30)
    print("halfway,", me, end=" ", file=sys.stderr)
    logging.getLogger("agent").warning("log of %s", me)
    both.wait(30)
    warnings.warn(f"warning of {me}")
    print("and ends", me, file=sys.stderr)
    return "wrong"
"""


def write(evals: Evals, agent: str, *names: str, **keys: Any) -> None:
    evals.write([row(name, says=None) for name in names], agent=FUNCTION, **keys)
    (evals.path / "my_agent.py").write_text(agent)


def output_of(evals: Evals, name: str) -> list[tuple[str, str]]:
    return read_output(folder_of(evals, name))


def folder_of(evals: Evals, name: str) -> Path:
    return evals.run_folder() / f"tasks/{name}/default/1/attempt-1"


def blocks(text: str) -> dict[str, str]:
    """Return pytest's failure blocks by the names of their rows."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("____"):
            name = line.strip("_ ")
        found[name] = found.get(name, "") + line + "\n"
    return found


def test_output_stands_under_its_own_row(evals: Evals) -> None:
    """Attempts that run at once mix neither what they print, nor their log, nor their warnings."""
    write(evals, AGENT, "a", "b", lanes=2)
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(failed=2)
    shown = blocks(run.stdout.str().partition("warnings summary")[0])
    for me, other in (("a", "b"), ("b", "a")):
        assert [line for kind, line in output_of(evals, me) if kind != "warning"] == [
            f"begins {me}",
            f"WARNING  agent:my_agent.py:12 log of {me}",
            f"halfway, {me} and ends {me}",
        ]
        assert "Captured stdout attempt ---" in shown[me]
        assert f"begins {me}\n" in shown[me]
        assert f"halfway, {me} and ends {me}\n" in shown[me]
        assert f"log of {me}\n" in shown[me]
        assert not {f"begins {other}", f"log of {other}"} & set(shown[me].splitlines())
    lines = run.stdout.str().partition("warnings summary")[2].splitlines()
    for me in ("a", "b"):
        place = lines.index(f"shop.eval.yaml::{me}")
        assert f"UserWarning: warning of {me}" in lines[place + 1]


@pytest.mark.parametrize(
    ("option", "seen"), [("no", set()), ("stdout", {"begins"}), ("stderr", {"ends"}), ("log", {"log of"})]
)
def test_show_capture_is_obeyed(evals: Evals, option: str, seen: set[str]) -> None:
    """``--show-capture`` chooses among an attempt's output as it does among a test's."""
    write(evals, AGENT.replace("Barrier(2)", "Barrier(1)"), "a")
    text = evals.run("shop.eval.yaml", f"--show-capture={option}", "-p", "no:warnings").stdout.str()
    assert {word for word in ("begins", "ends", "log of") if f"{word} a" in text} == seen


def test_an_async_agent_is_captured_too(evals: Evals) -> None:
    """So are tasks and threads that it starts in its context."""
    agent = """
import asyncio

async def part(name):
    print("task of", name)

async def solve(context):
    await asyncio.create_task(part(context.task.query_id))
    await asyncio.to_thread(print, "thread of", context.task.query_id)
    return "right"
"""
    write(evals, agent, "a", "b", lanes=2)
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(passed=2)
    for me in ("a", "b"):
        assert output_of(evals, me) == [("stdout", f"task of {me}"), ("stdout", f"thread of {me}")]
    assert "task of" not in run.stdout.str()


def test_secrets_and_steering_characters_are_not_kept(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is redacted also where it is printed in pieces; what steers a terminal is escaped."""
    monkeypatch.setenv("SHOP_KEY", "hush-4711")
    agent = """
import sys

def solve(context):
    sys.stdout.write("key hush-")
    sys.stdout.write("4711 ")
    print("\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\u202eback \\x9b2J")
    print("not ended", end="")
    return "wrong"
"""
    write(evals, agent, "a")
    config = {**FUNCTION, "options": {"api_key": "${SHOP_KEY}"}}
    evals.write_config(agent=config)
    text = evals.run("shop.eval.yaml").stdout.str()
    kept = (folder_of(evals, "a") / "output.txt").read_text()
    assert kept == (
        "stdout  | key [redacted] red \\x1b]0;title\\x07 \\u202eback \\x9b2J\nstdout  | not ended\n"
    )
    assert "hush" not in text
    assert "key [redacted] red \\x1b]0;title" in text


def test_much_output_is_cut_in_the_middle(evals: Evals) -> None:
    """Beginning and end are kept of too much of it, and the report shows the end."""
    agent = """
def solve(context):
    for number in range(20_000):
        print(number, "x" * 100)
    print("y" * 1_000_000)
    return "wrong"
"""
    write(evals, agent, "a")
    text = evals.run("shop.eval.yaml").stdout.str()
    lines = [line for _, line in output_of(evals, "a")]
    assert (folder_of(evals, "a") / "output.txt").stat().st_size < 1_100_000
    assert lines[0] == f"0 {'x' * 100}"
    assert any("bytes left out]" in line for line in lines)
    assert lines[-1].endswith("yyy… 901,000 more characters")
    assert "\n0 xxx" not in text
    assert "output.txt]" in text


def test_capture_fixtures_of_other_tests_see_their_own_output_only(evals: Evals) -> None:
    """``capsys``, ``capfd`` and ``caplog`` work beside attempts that run on while an ordinary test is up."""
    agent = """
import logging, pathlib, time, threading

def solve(context):
    if context.task.query_id == "b":
        here = pathlib.Path(__file__).parent
        while not (here / "over").exists():
            print("noise of b")
            logging.getLogger("agent").warning("noise of b")
            (here / "loud").touch()
            threading.Event().wait(0.01)
    return "right"
"""
    write(evals, agent, "a", "b", lanes=2)
    (evals.path / "test_between.py").write_text(
        """
import logging, pathlib, sys, threading

here = pathlib.Path(__file__).parent

def loud():
    (here / "loud").unlink(missing_ok=True)
    while not (here / "loud").exists():
        threading.Event().wait(0.01)

def test_capsys(capsys):
    print("mine")
    loud()
    assert capsys.readouterr() == ("mine\\n", "")

def test_caplog(caplog):
    logging.getLogger("x").warning("mine")
    loud()
    assert caplog.messages == ["mine"]

def test_own(request):
    loud()
    print("mine")
    (here / "over").touch()
    assert 0
"""
    )
    (evals.path / "conftest.py").write_text(
        """
def pytest_collection_modifyitems(items):
    order = ["a", "test_capsys", "test_caplog", "test_own", "b"]
    items.sort(key=lambda item: order.index(item.name))
"""
    )
    run = evals.run("shop.eval.yaml", "test_between.py")
    run.assert_outcomes(passed=4, failed=1)
    assert "noise of b" not in run.stdout.str()
    assert "noise of b" not in run.stderr.str()
    assert ("stdout", "noise of b") in output_of(evals, "b")


def test_output_of_a_grader_is_its_row_s(evals: Evals) -> None:
    """In the run, and when it is graded again: then in a file of its own, of the last time only."""
    write(evals, "def solve(context):\n    return 'wrong'\n", "a", graders=["mine"])
    (evals.path / "conftest.py").write_text(
        """
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult

class Mine(GraderConfig):
    type: Literal["mine"] = "mine"
    async def grade(self, recorded):
        print("grading", recorded.task.query_id)
        return GraderResult(grader="mine", verdict="failed", score=0, reasoning="not mine")

def pytest_browsereval_register(registry):
    registry.register(Mine)
"""
    )
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(failed=1)
    assert run.stdout.str().count("grading a\n") == 1
    for _ in range(2):
        evals.run("shop.eval.yaml", "--eval-regrade=latest").assert_outcomes(failed=1)
        folder = folder_of(evals, "a")
        assert read_output(folder, "output-regrading.txt") == [("stdout", "grading a")]
        assert read_output(folder) == [("stdout", "grading a")]


def test_the_answer_of_a_protected_task_is_masked(evals: Evals) -> None:
    """A grader that prints what a protected task expects does not bring it into the run folder."""
    write(evals, "def solve(context):\n    return 'wrong'\n")
    evals.write_rows(row("a", says=None, answer="Ouagadougou", protected=True))
    (evals.path / "conftest.py").write_text(
        """
def pytest_browsereval_grade(grader, recorded):
    print("it should be", recorded.task.answer)
"""
    )
    evals.run("shop.eval.yaml").assert_outcomes(failed=1)
    assert output_of(evals, "a") == [("stdout", "it should be [withheld]")]


@pytest.mark.slow
def test_workers_send_the_output_with_the_reports(evals: Evals) -> None:
    """With ``-n`` the failure shows it as without, and JUnit has it."""
    write(evals, AGENT.replace("Barrier(2)", "Barrier(1)"), "a", "b")
    run = evals.run_process("shop.eval.yaml", "-n2", "--junitxml=j.xml", "-o", "junit_logging=all")
    shown = blocks(run.stdout.str())
    for me in ("a", "b"):
        assert f"begins {me}\n" in shown[me]
    assert "begins a" in (evals.path / "j.xml").read_text()
