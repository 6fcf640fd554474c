"""A run that is resumed: nothing that was judged is run again, nothing is counted twice."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.hooks.small_evals import Evals, errored_row, row
from tests.recorded import spoil_line

AGENT = """
import os, pathlib, signal

def solve(context):
    with (pathlib.Path(str(context.base_dir)) / "calls.txt").open("a") as file:
        file.write(context.task.query_id + chr(10))
    if (pathlib.Path(str(context.base_dir)) / f"{context.task.query_id}.dies").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return "right" if context.task.query_id != "bad" else "wrong"
"""


@pytest.fixture
def shop(evals: Evals) -> Evals:
    """Return an eval of three rows whose second one kills pytest."""
    (evals.path / "my_agent.py").write_text(AGENT)
    evals.write_rows(row("bad"), row("b"), row("c"))
    evals.write_config(agent={"type": "function", "function": "my_agent:solve"}, retries=1)
    (evals.path / "b.dies").touch()
    return evals


GATE = {"min_pass_rate": 0}


def calls(evals: Evals) -> list[str]:
    return (evals.path / "calls.txt").read_text().split()


def results(evals: Evals) -> dict[str, tuple[str, int]]:
    return {one["query_id"]: (one["verdict"], one["attempts"]) for one in evals.summary()["results"]}


def only_run(evals: Evals) -> Path:
    (folder,) = (evals.path / "results/shop").iterdir()
    return folder


CUT: dict[frozenset[tuple[str, bytes]], Path] = {}
"""Folders with a run that was killed, by the files of the eval: to have one killed takes most of a second."""


def cut(evals: Evals) -> None:
    """Have run the eval until its second row killed it, and take away what did so."""
    files = frozenset((file.name, file.read_bytes()) for file in evals.path.iterdir())
    if files not in CUT:
        assert evals.run_process("shop.eval.yaml").ret == -signal.SIGKILL
        CUT[files] = shutil.copytree(evals.path, evals.path.with_name(f"{evals.path.name}-cut"))
    else:
        shutil.copytree(CUT[files], evals.path, dirs_exist_ok=True)
    (evals.path / "b.dies").unlink()


@pytest.mark.slow
def test_finished_trials_are_told_and_the_rest_is_run(shop: Evals) -> None:
    """A failed one stays failed without being run; it shows as any other."""
    cut(shop)
    result = shop.run("shop.eval.yaml", "--eval-resume", "--junit-xml=junit.xml")
    result.assert_outcomes(passed=2, failed=1)
    assert calls(shop) == ["bad", "b", "b", "c"]
    result.stdout.fnmatch_lines(["*note: resuming run * 1 of 3 trials have a result, 2 to run*"])
    assert results(shop).keys() == {"bad", "b", "c"}
    assert only_run(shop).name in result.stdout.str()
    junit = (shop.path / "junit.xml").read_text()
    assert junit.count('<property name="resumed" value="True"') == 1


@pytest.mark.slow
def test_a_finished_run_needs_no_browser(shop: Evals) -> None:
    """The report is made of the folder alone, also with a worker."""
    (shop.path / "b.dies").unlink()
    shop.run("shop.eval.yaml")
    before = results(shop)
    for args in ((), ("-n", "1")):
        result = shop.run("shop.eval.yaml", "--eval-resume", *args)
        result.assert_outcomes(passed=2, failed=1)
    assert results(shop) == before
    assert len(calls(shop)) == 3
    lines = (only_run(shop) / "resumes.jsonl").read_text().splitlines()
    assert [json.loads(line)["finished"] for line in lines] == [3, 3], "no browser was started"


def test_errored_trials_run_again(evals: Evals) -> None:
    """The attempt that errored stays beside the new one."""
    evals.play([row("a"), errored_row("e")])
    result = evals.run("shop.eval.yaml", "--eval-resume=latest")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*1 of 2 trials have a result, 1 to run (1 errored before)"])
    assert results(evals) == {"a": ("passed", 1), "e": ("errored", 2)}


@pytest.mark.slow
def test_work_is_shared_by_workers(shop: Evals) -> None:
    """The workers of a session find the same run, and each what it has to run of it.

    Which browser made which attempt can be told.
    """
    cut(shop)
    shop.run("shop.eval.yaml", "--eval-resume", "-n", "2").assert_outcomes(passed=2, failed=1)
    assert sorted(calls(shop)) == ["b", "b", "bad", "c"]
    lines = [json.loads(line) for line in (only_run(shop) / "resumes.jsonl").read_text().splitlines()]
    assert [line["finished"] for line in lines if "finished" in line] == [1]
    found = [line for line in lines if "browser" in line]
    assert {line["worker"] for line in found} <= {"gw0", "gw1"}
    manifest = json.loads((only_run(shop) / "manifest.json").read_text())
    assert {line["browser"] for line in found} == {manifest["browser"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"limits": {"max_steps": 7}}, "config.limits.max_steps: 100 -> 7"),
        ({"pass_when": "any"}, "config.pass_when: all -> any"),
    ],
)
def test_another_config_is_refused(shop: Evals, keys: dict[str, Any], told: str) -> None:
    """Before anything is spent, with what differs; what changes no attempt may differ."""
    cut(shop)
    agent = {"type": "function", "function": "my_agent:solve"}
    shop.write_config(agent=agent, **keys)
    result = shop.run("shop.eval.yaml", "--eval-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*  {told}", "*--eval-resume-anyway*"])
    assert calls(shop) == ["bad", "b"]
    shop.write_config(agent=agent, lanes=2, retries=3, gate={"min_pass_rate": 0.1})
    assert shop.run("shop.eval.yaml", "--eval-resume").ret == 0


def test_edited_rows_are_refused_and_run_again_anyway(shop: Evals) -> None:
    """The result of another task is no result of this one; rows that are gone are told."""
    cut(shop)
    shop.write_rows(row("c"), row("d"))
    gone = shop.run("shop.eval.yaml", "--eval-resume")
    assert gone.ret == pytest.ExitCode.USAGE_ERROR
    gone.stderr.fnmatch_lines(["*  rows are gone: bad"])
    shop.write_rows(row("bad", answer="wrong"), row("b"), row("d"))
    result = shop.run("shop.eval.yaml", "--eval-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*  rows were edited: bad"])
    result = shop.run("shop.eval.yaml", "--eval-resume", "--eval-resume-anyway")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*resumed anyway: rows were edited: bad"])
    assert results(shop)["bad"] == ("passed", 2)


def test_a_run_that_goes_on_is_left_alone(shop: Evals) -> None:
    """Two sessions would make the same attempts and pay twice."""
    cut(shop)
    with FileLock(only_run(shop) / ".locks/main"):
        result = shop.run("shop.eval.yaml", "--eval-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a process is still writing this run (main)*"])
    shop.run("shop.eval.yaml", "--eval-resume").assert_outcomes(passed=2, failed=1)
    assert list((only_run(shop) / "in-flight").iterdir()) == []


@pytest.mark.slow
def test_rows_that_rest_on_others_run_with_them(evals: Evals) -> None:
    """The state that a finished row has left is gone; a group all of which is finished is told."""
    (evals.path / "my_agent.py").write_text(AGENT)
    evals.write_rows(row("a"), row("b", depends_on=["a"]), row("c"), row("d", depends_on=["c"]))
    evals.write_config(agent={"type": "function", "function": "my_agent:solve"}, retries=1)
    (evals.path / "d.dies").touch()
    assert evals.run_process("shop.eval.yaml").ret == -signal.SIGKILL
    (evals.path / "d.dies").unlink()
    result = evals.run("shop.eval.yaml", "--eval-resume")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*: 2 of 4 trials have a result, 2 to run (1 cut off before)"])
    assert sorted(calls(evals)[:4]) == ["a", "b", "c", "d"]
    assert calls(evals)[4:] == ["c", "d"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("shop.eval.yaml", "--eval-resume"), "there is no run 'latest'"),
        (("--eval-resume", "shop.eval.yaml"), "--eval-resume takes what follows it, shop.eval.yaml, as the"),
        (("shop.eval.yaml", "--eval-resume-anyway"), "--eval-resume-anyway has no effect without"),
        (("shop.eval.yaml", "--eval-resume", "--eval-regrade=latest"), "Leave one out"),
    ],
)
def test_what_cannot_be_gone_on_with(shop: Evals, args: tuple[str, ...], told: str) -> None:
    """Wrong options are told before anything is spent."""
    result = shop.run(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str() + result.stdout.str()
    assert not (shop.path / "calls.txt").exists()


def test_a_run_without_manifest_is_refused(shop: Evals) -> None:
    """What it was made of is unknown."""
    cut(shop)
    (only_run(shop) / "manifest.json").write_text("{")
    result = shop.run("shop.eval.yaml", "--eval-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*manifest.json is missing or damaged*"])


def test_a_damaged_attempt_is_told(shop: Evals) -> None:
    """Neither lost nor run again in silence."""
    cut(shop)
    spoil_line(only_run(shop), "bad")
    result = shop.run("shop.eval.yaml", "--eval-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is damaged: verdict*"])
    assert calls(shop) == ["bad", "b"]


@pytest.mark.slow
def test_a_part_of_a_killed_run_is_not_the_run(shop: Evals) -> None:
    """How many trials there were to be is known from its start."""
    shop.write_config(agent={"type": "function", "function": "my_agent:solve"}, retries=1, gate=GATE)
    cut(shop)
    result = shop.run("shop.eval.yaml", "--eval-resume", "-k", "bad")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["gate complete: 1 of the run's 3 trials have no result*"])
    assert shop.run("shop.eval.yaml", "--eval-resume").ret == 0


def offline(evals: Evals, command: str, *args: str) -> pytest.RunResult:
    """Run a command on the only run."""
    return evals.run_command(command, str(only_run(evals)), *args).result


@pytest.mark.slow
def test_rows_of_all_sessions_make_the_run(shop: Evals) -> None:
    """A killed session leaves rows to be done; another one that selects others does not make up for them."""
    shop.write_config(agent={"type": "function", "function": "my_agent:solve"}, retries=1, gate=GATE)
    assert shop.run_process("shop.eval.yaml", "-k", "bad or b").ret == -signal.SIGKILL
    result = shop.run("shop.eval.yaml", "--eval-resume", "-k", "c")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["gate max_error_rate: error rate 33.3% (1/3) is over*"])
    assert offline(shop, "gate").ret == 1
    (shop.path / "b.dies").unlink()
    assert shop.run("shop.eval.yaml", "--eval-resume", "-k", "b", "-n", "1").ret == 0
    assert offline(shop, "gate").ret == 0


@pytest.mark.slow
def test_a_killed_session_that_would_have_made_more_leaves_no_summary(shop: Evals) -> None:
    """What an earlier session had wanted was done, and is not what the run was to be in the end."""
    shop.write_config(agent={"type": "function", "function": "my_agent:solve"}, retries=1, gate=GATE)
    assert shop.run("shop.eval.yaml", "-k", "c").ret == 0
    assert shop.run_process("shop.eval.yaml", "--eval-resume").ret == -signal.SIGKILL
    decided = offline(shop, "gate")
    assert decided.ret == 1
    decided.stdout.fnmatch_lines(["*complete*the run was ended before its summary.json was written*"])
    (shop.path / "b.dies").unlink()
    result = shop.run("shop.eval.yaml", "--eval-resume", "-k", "c")
    result.stdout.fnmatch_lines(["gate max_error_rate: error rate 33.3% (1/3) is over*"])


def test_the_gate_is_that_of_the_last_session(shop: Evals) -> None:
    """It may be another one than the run was begun with: all that read the run go by the same."""
    (shop.path / "b.dies").unlink()
    shop.write_config(agent={"type": "function", "function": "my_agent:solve"}, retries=1, gate=GATE)
    assert shop.run("shop.eval.yaml").ret == 0
    assert offline(shop, "gate").ret == 0
    rules = ("--eval-set", "gate.min_pass_rate=0.9", "--eval-set", "gate.quarantine={c: 2999-01-01}")
    assert shop.run("shop.eval.yaml", "--eval-resume", *rules).ret == pytest.ExitCode.TESTS_FAILED
    decided = offline(shop, "gate")
    assert decided.ret == 1
    decided.stdout.fnmatch_lines(["*min_pass_rate*50.0%*90.0%*"])
    offline(shop, "runs").stdout.fnmatch_lines(["*min_pass_rate 0.9*"])
    offline(shop, "view")
    assert '"now":{"c":"2999-01-01"}' in (only_run(shop) / "index.html").read_text()


@pytest.mark.slow
def test_hooks_that_change_tasks_edit_no_row(shop: Evals) -> None:
    """What plug-ins make of a row is code, as the agent is; each call may make something else of it."""
    (shop.path / "conftest.py").write_text(
        "import uuid\n\ndef pytest_browsereval_modify_task(task):\n"
        "    return task.model_copy(update={'query': f'{task.query} {uuid.uuid4()}'})\n"
    )
    cut(shop)
    shop.run("shop.eval.yaml", "--eval-resume").assert_outcomes(passed=2, failed=1)
    assert calls(shop) == ["bad", "b", "b", "c"]


def test_tests_by_hand_make_no_attempts_in_an_earlier_run(shop: Evals) -> None:
    """They would take the place of its results."""
    (shop.path / "b.dies").unlink()
    shop.run("shop.eval.yaml")
    (shop.path / "test_own.py").write_text(
        "import pytest\n\n@pytest.mark.browsereval(config='shop.eval.yaml')\n"
        "def test_it(eval_task, run_eval):\n    run_eval(eval_task)\n"
    )
    result = shop.run("test_own.py", "--eval-resume")
    assert result.ret != 0
    assert "this test would make new attempts" in result.stdout.str() + result.stderr.str()
    assert len(calls(shop)) == 3


@pytest.mark.parametrize(
    "options", [[], pytest.param(["-n1"], marks=pytest.mark.slow)], ids=["one", "worker"]
)
def test_without_a_gate_a_part_is_as_red_as_its_run(shop: Evals, options: list[str]) -> None:
    """A session whose own rows pass ends with 1 where the run has a failed row, or lacks one."""
    cut(shop)
    (shop.path / "b.dies").unlink(missing_ok=True)
    lacks = shop.run("shop.eval.yaml::b", "--eval-resume", *options)
    assert lacks.ret == pytest.ExitCode.TESTS_FAILED
    told = " ".join(" ".join(lacks.outlines).split())
    assert "the run is not green: 1 trial failed that no item of this session reports" in told
    assert "1 of the run's 3 trials have no result" in told
    failed = shop.run("shop.eval.yaml::b", "shop.eval.yaml::c", "--eval-resume", *options)
    failed.assert_outcomes(passed=2)
    assert failed.ret == pytest.ExitCode.TESTS_FAILED
    assert "have no result" not in failed.stdout.str()
