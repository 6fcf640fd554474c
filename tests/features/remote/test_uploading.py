"""``--eval-output=URL``: whole programs, with a folder as the bucket."""

from __future__ import annotations

from typing import Any
from urllib.request import url2pathname

import pytest

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import list_paths
from tests.features.remote.test_push_and_pull import objects
from tests.hooks.small_evals import Evals, row

ROWS = [row("good"), row("bad", says="wrong"), row("r1"), row("r2")]


def write(evals: Evals, **keys: Any) -> None:
    """Write an eval of three right rows and a wrong one."""
    evals.write(ROWS, **{"gate": {"min_pass_rate": 0.5}, **keys})


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_a_run_is_made_here_and_counts_there(evals: Evals, bucket: str, args: tuple[str, ...]) -> None:
    """Its end is that of the run; nothing is left to push, and the gate there says the same."""
    write(evals)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", *args)
    url = f"{bucket}/shop/{run.folder.name}"
    assert run.ret == 0
    assert run.folder.parent == evals.path / "results" / "shop"
    run.stdout.fnmatch_lines([f"sent to {url}"])
    assert evals.run_command("gate", url, "--config", "shop.eval.yaml").ret == 0
    again = evals.run_command("push", str(run.folder), bucket)
    again.stdout.fnmatch_lines([f"{len(list(list_paths(run.folder)))} objects: {url}"])


OUTAGES: tuple[tuple[BaseException, int, str], ...] = (
    (RemoteError("the bucket is gone."), 3, "the bucket is gone."),
    (KeyboardInterrupt(), pytest.ExitCode.INTERRUPTED, "interrupted."),
)


def test_what_cannot_be_sent_makes_the_run_incomplete(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exit code and the line that completes it, not a traceback; no attempt has failed for it."""
    write(evals)
    for number, (error, code, told) in enumerate(OUTAGES):

        def fail(self: Bucket, path: str, content: bytes, error: BaseException = error) -> None:
            raise error

        name, url = f"nightly-{number}", f"{bucket}/shop/nightly-{number}"
        with monkeypatch.context() as patch:
            patch.setattr(Bucket, "put", fail)
            run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", f"--eval-run-name={name}")
        assert run.ret == code
        assert (run.summary["passed"], run.summary["failed"], run.summary["errored"]) == (3, 1, 0)
        line = f"browsereval push {run.folder} {bucket} --name {name}"
        run.stdout.fnmatch_lines([f"NOT SENT: {told} Later: {line}"])
        assert len(objects(evals, "done")) == number
        assert evals.run_command("gate", url).ret != 0
        assert evals.run_command(*line.split()[1:]).ret == 0
        assert evals.run_command("gate", url, "--config", "shop.eval.yaml").ret == 0


def test_a_run_that_is_not_complete_does_not_count(evals: Evals, bucket: str) -> None:
    """What it has is there; resumed and sent, it counts."""
    write(evals, gate={})
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", "-x")
    url = f"{bucket}/shop/{run.folder.name}"
    run.stdout.fnmatch_lines([f"sent to {url}, but the run is not complete. Resume it, then push it"])
    assert objects(evals, "done") == []
    unread = evals.run_command("gate", url)
    assert unread.ret == 4
    assert "parts/1-of-1 was begun and is not done" in unread.stderr.str()
    resumed = evals.run("shop.eval.yaml", "--eval-resume=latest", f"--eval-output={bucket}")
    assert resumed.ret == 1
    resumed.stdout.fnmatch_lines([f"sent to {url}"])
    evals.write_config(gate={"min_pass_rate": 0.7})
    assert evals.run_command("gate", url, "--config", "shop.eval.yaml").ret == 0


def test_nothing_runs_where_it_cannot_be_sent(evals: Evals) -> None:
    """A usage error before anything is spent; the URLs that are refused are in test_push_and_pull.py."""
    write(evals)
    for args, message in (
        (["shop.eval.yaml", "--eval-run-name=nightly"], "--eval-run-name has no effect without a URL"),
        (["--eval-run-name=nightly"], "ERROR: --eval-run-name has no effect without a URL"),
        (["--eval-output=file:///nowhere/x", "--eval-shard=1/2"], "shards of a run at a URL need its name"),
        (["--eval-set", "output_dir=s3://bucket/evals"], "--eval-output=s3://bucket/evals"),
    ):
        run = evals.run(*args)
        assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
        assert not (evals.path / "results").exists()
        assert not (evals.path / "s3:").exists()
        assert message in run.stderr.str() + run.stdout.str()


def test_a_run_that_is_done_is_not_sent_again(evals: Evals, bucket: str) -> None:
    """What is done there does not change."""
    write(evals)
    evals.run("shop.eval.yaml", f"--eval-output={bucket}")
    before = {path: path.read_bytes() for path in objects(evals, "*")}
    for option, message in (("regrade", "is for new runs"), ("resume", "is already finished")):
        run = evals.run("shop.eval.yaml", f"--eval-{option}=latest", f"--eval-output={bucket}")
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        assert message in run.stderr.str() + run.stdout.str()
        assert "NOT SENT" not in run.stdout.str()
        assert {path: path.read_bytes() for path in objects(evals, "*")} == before


def test_one_shard_may_have_all_rows(evals: Evals, bucket: str) -> None:
    """The others leave nothing, and the run is merged by the same command."""
    codes = [
        evals.play([row("one")], f"--eval-shard={n}/3", f"--eval-output={bucket}", "--eval-run-name=n").ret
        for n in (1, 2, 3)
    ]
    assert sorted(codes) == [0, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.NO_TESTS_COLLECTED]
    merged = evals.run_command("merge", f"{bucket}/shop/n", "-o", "whole")
    assert merged.ret == 0, merged.stderr.str()
    gated = evals.run_command("gate", "whole", "--eval-set", "gate.min_pass_rate=1")
    gated.stdout.fnmatch_lines(["pass rate 100.0% (1 of 1 judged)*"])


def test_attempts_go_once_and_nothing_from_outside(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the run goes on, again after errors; an agent's program can append a line, and make links."""
    monkeypatch.setattr("pytest_browsereval.features.remote.hooks.INTERVAL_S", 0.02)
    given: list[str] = []
    put, failures = Bucket.put, 0

    def watched(self: Bucket, path: str, content: bytes) -> None:
        nonlocal failures
        if failures < 3 and "/try-" in path:
            failures += 1
            raise RemoteError("the cable is out")
        put(self, path, content)
        given.extend([path] * path.endswith("/metadata.json"))

    monkeypatch.setattr(Bucket, "put", watched)
    outside = evals.path / "outside"
    outside.mkdir()
    (outside / "private.json").write_text("{}")
    (evals.path / "forging.py").write_text(
        FORGING.format(folder=url2pathname(bucket.removeprefix("file://")), outside=str(outside))
    )
    evals.write_rows(row("first"), row("second"), row("third"))
    evals.write_config(agent={"type": "function", "function": "forging:solve"})
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", "--eval-lanes=1")
    run.assert_outcomes(passed=3)
    assert failures == 3
    assert len(given) == len(set(given)) >= 2
    assert objects(evals, "*private*") == []
    run.stdout.fnmatch_lines(["NOT SENT: *link is not a plain file*"])


FORGING = """
import time
from pathlib import Path

def wait_for(name):
    deadline = time.monotonic() + 60
    while not list(Path({folder!r}).rglob(f"{{name}}/default/1/attempt-1/metadata.json")):
        assert time.monotonic() < deadline, f"{{name}} did not come"
        time.sleep(0.02)

def solve(context):
    [run] = Path("results/shop").iterdir()
    if context.task.query_id == "second":
        wait_for("first")
        (run / "tasks" / "link").symlink_to({outside!r})
        line = next((run / "attempts").iterdir()).read_text().splitlines()[0]
        for name in ("link", "../../../outside"):
            (run / "attempts" / f"forged-{{len(name)}}.jsonl").write_text(line.replace("first", name) + "\\n")
    if context.task.query_id == "third":
        wait_for("second")
    return "right"
"""


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=["alone", "worker"]
)
def test_tests_by_hand_are_refused(evals: Evals, bucket: str, args: tuple[str, ...]) -> None:
    """Their runs are their own, and would stay here without a word."""
    write(evals)
    (evals.path / "test_hand.py").write_text(BY_HAND)
    run = evals.run("test_hand.py", f"--eval-output={bucket}", *args)
    assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    assert "is a hand-written test. Leave the option out" in run.stderr.str() + run.stdout.str()
    assert objects(evals, "*") == []


BY_HAND = """
import pytest

@pytest.mark.browsereval(config="shop.eval.yaml")
async def test_rows(eval_task, run_eval):
    await run_eval(eval_task)
"""
