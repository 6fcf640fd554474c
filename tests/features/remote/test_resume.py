"""The same command on another machine: it goes on from what an interrupted try has sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import Part
from pytest_browsereval.run.shards import Shard
from tests.features.remote.test_push_and_pull import objects
from tests.hooks.small_evals import Evals, row

NAME = "--eval-run-name=nightly"

AGENT = """
from pathlib import Path

def solve(context):
    with Path("calls.txt").open("a") as file:
        file.write(f"{context.task.query_id}\\n")
    return "wrong" if context.task.query_id == "bad" else "right"
"""


def write(evals: Evals, **keys: Any) -> None:
    """Write an eval of three right rows and a wrong one, whose agent writes down what it does."""
    (evals.path / "writing.py").write_text(AGENT)
    evals.write_rows(*(row(name) for name in ("bad", "b", "c", "d")))
    agent = {"type": "function", "function": "writing:solve"}
    evals.write_config(agent=agent, capture={"screenshots": "after"}, **keys)


def calls(evals: Evals) -> list[str]:
    """Return the rows that agents have worked on since the last time."""
    file = evals.path / "calls.txt"
    found = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return found


def interrupt(evals: Evals, bucket: str, *args: str, **keys: Any) -> None:
    """Have a try that ends after its second row, and take its folder away with its machine."""
    write(evals, **keys)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, "--maxfail=1", *args)
    assert objects(evals, "done") == []
    run.folder.rename(evals.path.with_name(f"{evals.path.name}-gone"))
    assert calls(evals)


def test_the_same_command_goes_on_elsewhere(evals: Evals, bucket: str) -> None:
    """What is finished is not run again, and the new try has everything."""
    interrupt(evals, bucket)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    assert run.ret == 1
    run.assert_outcomes(passed=3, failed=1)
    run.stdout.fnmatch_lines(
        ["*note: resuming run * 1 of 4 trials have a result, 3 to run*", f"sent to {bucket}/shop/nightly"]
    )
    assert calls(evals) == ["b", "c", "d"]
    assert len(objects(evals, "claim-*")) == 2
    done = json.loads(objects(evals, "done")[0].read_text())
    tries = {path.parent.name for path in objects(evals, "manifest.json")}
    assert len(tries) == 2
    assert f"try-{done['try']}" in tries
    evals.run_command("pull", f"{bucket}/shop/nightly", "-o", "copy")
    assert sorted(path.parts[-4] for path in evals.path.glob("copy/tasks/*/*/*/attempt-*")) == [
        "b", "bad", "c", "d",
    ]  # fmt: skip


def test_a_try_at_fewer_rows_is_not_the_run(evals: Evals, bucket: str) -> None:
    """Done would be done: the command without the selection could not complete it."""
    interrupt(evals, bucket)
    some = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, "-k", "bad or b")
    assert some.ret == 1
    some.stdout.fnmatch_lines(["*but the run is not complete*"])
    assert objects(evals, "done") == []
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    run.assert_outcomes(passed=3, failed=1)
    assert len(objects(evals, "done")) == 1


@pytest.mark.slow
def test_an_attempt_that_is_not_all_there_is_run_again(evals: Evals, bucket: str) -> None:
    """It does not count half."""
    interrupt(evals, bucket)
    objects(evals, "attempts/*.jsonl")[0].unlink()
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    run.assert_outcomes(passed=3, failed=1)
    assert calls(evals) == ["bad", "b", "c", "d"]
    assert len(run.attempts) == 4
    assert evals.run_command("runs", f"{bucket}/shop/nightly").ret == 0


def test_the_try_with_most_is_taken(evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one may have ended before it had sent on what the one before it had."""
    interrupt(evals, bucket)
    put = Bucket.put

    def gone(self: Bucket, path: str, content: bytes) -> None:
        if "/try-" in path:
            raise RemoteError("the machine is gone")
        put(self, path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "put", gone)
        last = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    assert last.ret == 3
    last.folder.rename(evals.path.with_name(f"{evals.path.name}-gone-too"))
    assert calls(evals) == ["b", "c", "d"]
    assert evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME).ret == 1
    assert calls(evals) == ["b", "c", "d"]
    assert len(objects(evals, "claim-*")) == 3


def test_what_another_try_goes_on_with_stops_here(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No further attempt begins, and the try that took over is not written over."""
    monkeypatch.setattr("pytest_browsereval.features.remote.hooks.INTERVAL_S", 0.02)
    write(evals)
    waiting = """
import time
from pathlib import Path

def solve(context):
    with Path("calls.txt").open("a") as file:
        file.write(f"{context.task.query_id}\\n")
    deadline = time.monotonic() + 60
    while context.task.query_id == "b" and not list(Path("results").rglob("outages.jsonl")):
        assert time.monotonic() < deadline, "nobody has stopped the run"
        time.sleep(0.02)
    return "right"
"""
    (evals.path / "writing.py").write_text(waiting)
    put, other = Bucket.put, "f" * 32

    def overtaken(self: Bucket, path: str, content: bytes) -> None:
        put(self, path, content)
        if "/attempts/" in path and not any(other in one.read_text() for one in objects(evals, "claim-*")):
            Part(self, Shard(1, 1)).claim(other)

    monkeypatch.setattr(Bucket, "put", overtaken)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, "--eval-lanes=1")
    assert run.ret == 3
    assert calls(evals) == ["bad", "b"]
    line = "NOT SENT: *parts/1-of-1: another session has taken over this part* What was done here is in "
    run.stdout.fnmatch_lines([f"{line}{run.folder}"])
    assert len(objects(evals, "claim-*")) == 2
    assert objects(evals, "done") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "workers"), [("shop.eval.yaml", "-n2"), ("--eval-config=shop.eval.yaml", "-n1")]
)
def test_workers_go_on_with_what_their_controller_has_found(
    evals: Evals, bucket: str, name: str, workers: str
) -> None:
    """None of them takes the own try of the session for an earlier one."""
    interrupt(evals, bucket)
    run = evals.run(name, f"--eval-output={bucket}", NAME, workers)
    run.assert_outcomes(passed=3, failed=1)
    assert sorted(calls(evals)) == ["b", "c", "d"]
    assert len(objects(evals, "done")) == 1


@pytest.mark.slow
def test_evals_that_only_workers_find_are_to_be_named(evals: Evals, bucket: str) -> None:
    """Each of them would look by itself."""
    write(evals)
    run = evals.run(f"--eval-output={bucket}", NAME, "-n1")
    assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    assert "with -n and a URL, name evals with --eval-config=FILE" in run.stdout.str() + run.stderr.str()


def test_a_part_goes_on(evals: Evals, bucket: str) -> None:
    """Merged with the others, the parts are the run."""
    shards = [f"--eval-shard={number}/2" for number in (2, 1)]  # the row that fails is in the second
    interrupt(evals, bucket, shards[0])
    first = calls(evals)
    for shard in shards:
        evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, shard)
    done = calls(evals)
    assert sorted({*first, *done}) == ["b", "bad", "c", "d"] or len(done) == 3
    assert evals.run_command("merge", f"{bucket}/shop/nightly", "-o", "whole").ret == 0
    assert len(list(evals.path.glob("whole/tasks/*/*/*/attempt-*"))) == 4


def test_another_eval_does_not_go_on(evals: Evals, bucket: str) -> None:
    """A run is what it was made of."""
    interrupt(evals, bucket)
    write(evals, limits={"max_steps": 3})
    args = ["shop.eval.yaml", f"--eval-output={bucket}", NAME]
    run = evals.run(*args)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "under another --eval-run-name" in run.stderr.str() + run.stdout.str()
    assert calls(evals) == []
    assert len(objects(evals, "claim-*")) == 1
    evals.run(*args, "--eval-resume-anyway").assert_outcomes(passed=3, failed=1)


def test_what_runs_nothing_takes_nothing_over(evals: Evals, bucket: str) -> None:
    """The earlier try may be at work; nor does a session that is refused, which ends without an attempt."""
    interrupt(evals, bucket)
    before = {path: path.read_bytes() for path in objects(evals, "*")}
    for option in ("--collect-only", "--eval-plan", "--setup-only"):
        evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, option)
        assert {path: path.read_bytes() for path in objects(evals, "*")} == before
        assert calls(evals) == []
    evals.write_rows(row("bad"), row("b", graders=["nonsense"]), row("c"), row("d"))
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert len(objects(evals, "claim-*")) == 1


# -- a part or a run that is done


@pytest.mark.parametrize("more", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_what_is_done_is_said_at_once(evals: Evals, bucket: str, more: tuple[str, ...]) -> None:
    """Nothing runs; an engine that accepts a part without rows accepts it. Next to another eval it errs."""
    write(evals)
    args = ("--eval-config=shop.eval.yaml", f"--eval-output={bucket}", NAME)
    evals.run(*args)
    calls(evals)
    again = evals.run(*args, *more)
    assert (again.ret, again.folders) == (pytest.ExitCode.NO_TESTS_COLLECTED, ())
    assert "parts/1-of-1 is already finished" in again.stdout.str() + again.stderr.str()
    assert "Nothing was run" in again.stdout.str() + again.stderr.str()
    assert calls(evals) == []
    evals.write_config("other.eval.yaml")  # which would be left out
    both = evals.run("other.eval.yaml", "shop.eval.yaml", f"--eval-output={bucket}", NAME)
    assert (both.ret, both.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    assert "parts/1-of-1 is already finished" in both.stdout.str() + both.stderr.str()
    assert calls(evals) == []


def test_a_run_is_divided_in_one_way(evals: Evals, bucket: str) -> None:
    """Else a shard by mistake would make a run that is done one that nobody can read."""
    write(evals)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    calls(evals)
    shard = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, "--eval-shard=1/2")
    assert shard.ret == pytest.ExitCode.USAGE_ERROR
    assert "was divided differently: it has part 1-of-1. Use the same number of shards" in shard.stderr.str()
    assert calls(evals) == []
    alone = evals.run("shop.eval.yaml", "--eval-shard=1/2", "--eval-set", "gate={}")
    pushed = evals.run_command("push", str(alone.folder), bucket, "--name=nightly")
    assert (pushed.ret, len(objects(evals, "done"))) == (4, 1)
    assert (
        evals.run_command("gate", f"{bucket}/shop/nightly", "--eval-set", "gate.min_pass_rate=0.5").ret == 0
    )
    assert run.folder.is_dir()
