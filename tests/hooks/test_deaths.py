"""Processes that die: the fault is errored, counted once, and a gate sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.runs.run import StoredRun
from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.slow

FIRST = """
import asyncio, os, pathlib, pytest, signal, time

FOLDER = pathlib.Path(__file__).parent

def is_first(name):
    flag = FOLDER / f"{name}.done"
    has_been = flag.exists()
    flag.touch()
    return not has_been

def die():
    os.kill(os.getpid(), signal.SIGKILL)  # as the system does that has no memory left
"""

AGENT = (
    FIRST
    + """
async def solve(context):
    name = context.task.query_id
    (FOLDER / f"{name}.begun").touch()
    if name.startswith("erring") and is_first(f"{name}-err"):
        raise ValueError("broken")
    while "company" in name and len(list(FOLDER.glob("*company*.begun"))) < 3:
        await asyncio.sleep(0.02)
    if "loop" in name and is_first(name):  # not the process: its event loop
        (FOLDER / "died").touch()
        asyncio.get_running_loop().call_soon(time.sleep, 4)
        await asyncio.sleep(60)
    while name == "after" and not (FOLDER / "late.over").exists():
        await asyncio.sleep(0.02)
    if "always" in name or ("once" in name and is_first(name)):
        (FOLDER / "died").touch()
        os._exit(9)
    while name.startswith("company") and not (FOLDER / "died").exists():
        await asyncio.sleep(0.02)
    return "right"
"""
)

CONFTEST = (
    FIRST
    + """
def pytest_runtest_setup(item):
    if "before" in item.name and is_first("before"):
        die()

def pytest_browsereval_task_done(metadata, folder):
    if "hook" in metadata.query_id and is_first("hook"):
        die()

def pytest_runtest_teardown(item):
    if "teardown" in item.name and is_first("teardown"):
        die()

def pytest_browsereval_grade(grader, recorded):
    if "grader" in recorded.task.query_id and is_first("grader"):
        die()

class Follower:
    fault = None

    async def ask(self, step, *, is_end=False):
        pass

    def finish(self):  # the last code of an attempt before its record
        time.sleep(4)
        (FOLDER / "late.over").touch()

def pytest_browsereval_follow_attempt(task):
    return Follower() if task.query_id == "late" else None
"""
)

GATE = {"max_error_rate": 0, "min_pass_rate": 0.1}


@pytest.fixture
def dying(evals: Evals) -> Evals:
    """Return an eval whose rows kill their process where their names say so."""
    (evals.path / "my_agent.py").write_text(AGENT)
    (evals.path / "conftest.py").write_text(CONFTEST)
    return evals


def run(
    evals: Evals, *names: str, args: tuple[str, ...] = ("-n1",), **keys: Any
) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a run of these rows, and its summary."""
    evals.write_config(agent={"type": "function", "function": "my_agent:solve"}, gate=GATE, **keys)
    evals.write_rows(*map(row, names))
    result = evals.run_process("shop.eval.yaml", *args, limit_s=120)
    assert result.folders, result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str()
    return result.ret, evals.summary()


def tell(summary: dict[str, Any]) -> dict[str, str]:
    """Return the verdicts by row."""
    return {one["query_id"]: one["verdict"] for one in summary["results"]}


def list_unrecorded(evals: Evals) -> list[Path]:
    """Return the folders of attempts that have no record."""
    folders = evals.run_folder().glob("tasks/*/*/*/attempt-*")
    return [one for one in folders if not (one / "metadata.json").exists()]


@pytest.mark.parametrize(
    ("name", "retries", "verdict"),
    [
        ("once", 0, "errored"),
        ("once", 1, "passed"),
        ("always", 1, "errored"),
        ("erring-once", 1, "errored"),
        ("before", 0, "errored"),
        ("hook", 0, "errored"),
        ("grader", 0, "errored"),
    ],
)
def test_a_trial_that_was_alone_in_a_process_that_died_has_used_a_try(
    dying: Evals, name: str, retries: int, verdict: str
) -> None:
    """Whatever of it killed the process: it is errored, and only ``retries`` lets it be tried again."""
    code, summary = run(dying, *(("a", "b", name) if name == "hook" else (name, "a", "b")), retries=retries)
    assert tell(summary) == {"a": "passed", "b": "passed", name: verdict}
    assert code == (0 if verdict == "passed" else 1)
    assert "deaths" not in summary
    assert not list_unrecorded(dying)


@pytest.mark.parametrize("dist", ["load", "loadscope", "loadgroup", "loadfile", "worksteal"])
def test_of_several_trials_each_runs_alone_once(dying: Evals, dist: str) -> None:
    """If none of them dies again, the death stands in the summary, and the gate's error rate has it."""
    names = ["once-company", "company1", "company2"]
    code, summary = run(dying, *names, lanes=3, args=("-n1", f"--dist={dist}"))
    assert tell(summary) == dict.fromkeys(names, "passed")
    assert (code, summary["deaths"], summary["errored"]) == (1, 1, 0)
    assert summary["trials"] == len(names)


def test_a_death_is_counted_once(dying: Evals) -> None:
    """A trial that dies in company and then alone is errored; the first death is explained by the second."""
    names = ["always-company", "company1", "company2"]
    code, summary = run(dying, *names, lanes=3)
    assert tell(summary) == {**dict.fromkeys(names, "passed"), names[0]: "errored"}
    assert (code, summary["errored"], "deaths" in summary) == (1, 1, False)


def test_a_death_after_the_verdict_is_counted(dying: Evals) -> None:
    """A process that dies while a judged row is torn down has lost nothing, and the gate sees it."""
    code, summary = run(dying, "a", "teardown", "b")
    assert tell(summary) == dict.fromkeys(["a", "teardown", "b"], "passed")
    assert (code, summary["deaths"]) == (1, 1)


@pytest.mark.parametrize("retries", [0, 1])
def test_a_resume_tries_no_more_often_than_retries_allow(dying: Evals, retries: int) -> None:
    """After pytest has died at one trial, it is errored, and is tried again only by ``retries``."""
    with pytest.raises(FileNotFoundError):
        run(dying, "a", "once", "b", args=(), retries=retries)
    result = dying.run_process("shop.eval.yaml", "--eval-resume")
    expected = "errored" if retries == 0 else "passed"
    assert tell(dying.summary()) == {"a": "passed", "once": expected, "b": "passed"}
    assert result.ret == (1 if retries == 0 else 0)
    if retries == 0:
        assert dying.run_process("shop.eval.yaml", "--eval-resume").ret == 1
        again = dying.run_process("shop.eval.yaml", "--eval-resume", "--eval-set=retries=1")
        assert again.ret == 0
        assert tell(dying.summary())["once"] == "passed"


def test_a_lost_event_loop_is_no_free_try(dying: Evals) -> None:
    """An attempt that blocks it by a callback is errored; with others beside it the death is counted."""
    limits = {"stuck_s": 1}
    code, summary = run(dying, "loop", "b", args=(), limits=limits)
    assert tell(summary) == {"loop": "errored", "b": "passed"}
    assert (code, "deaths" in summary) == (1, False)
    assert not list_unrecorded(dying)
    (dying.path / "died").unlink()
    names = ["loop-company", "company1", "company2"]
    code, summary = run(dying, *names, lanes=3, args=(), limits=limits)
    assert tell(summary) == dict.fromkeys(names, "passed")
    assert (code, summary["deaths"]) == (1, 1)


def test_code_that_comes_back_after_its_loop_was_lost_records_nothing(dying: Evals) -> None:
    """The fault stands in the attempt's own folder, with the time that it took; a late result does not."""
    code, summary = run(dying, "late", "after", args=(), limits={"stuck_s": 2}, lanes=1)
    assert (code, tell(summary)) == (1, {"late": "errored", "after": "passed"})
    made = {one.query_id: one for one in StoredRun(dying.run_folder()).attempts}
    assert (made["late"].attempt, made["late"].metadata.revision) == (1, 1)
    assert (made["late"].total_duration_ms or 0) > 2000
    assert not list_unrecorded(dying)
