"""A part or a run at a URL that is done: what the same command says of it, and what it ends with."""

from __future__ import annotations

import pytest

from tests.features.remote.test_push_and_pull import bucket, cache, objects
from tests.features.remote.test_resume import NAME, calls, write
from tests.hooks.small_evals import Evals, row

__all__ = ["bucket", "cache"]


def test_what_is_done_is_said_at_once(evals: Evals, bucket: str) -> None:
    """Nothing is collected, no folder is made."""
    write(evals)
    evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    calls(evals)
    again = evals.run("--eval-config=shop.eval.yaml", f"--eval-output={bucket}", NAME)
    assert (again.ret, again.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    assert "parts/1-of-1 is done already" in again.stderr.str()
    assert "Nothing was run" in again.stderr.str()
    assert calls(evals) == []


@pytest.mark.parametrize("more", [(), ("-n2",)])
@pytest.mark.parametrize(("gate", "code"), [("gate={}", 1), ("gate.min_pass_rate=0.5", 0)])
def test_an_engine_gets_what_a_part_has_ended_with(
    evals: Evals, bucket: str, gate: str, code: int, more: tuple[str, ...]
) -> None:
    """It starts a part again whose machine was lost after its last object; a person has to ask for that."""
    write(evals)
    args = ["--eval-config=shop.eval.yaml", f"--eval-output={bucket}", NAME, "--eval-set", gate]
    assert evals.run(*args).ret == code
    calls(evals)
    again = evals.run(*args, "--eval-accept-done", *more)
    assert (again.ret, len(again.folders)) == (code, 0)
    text = again.stdout.str() + again.stderr.str()
    assert (
        f"parts/1-of-1 is done already. Nothing was run: this is the exit code that it ended with, {code}."
        in text
    )
    assert calls(evals) == []


def test_only_what_a_session_has_ended_is_accepted(evals: Evals, bucket: str) -> None:
    """Of a run that was pushed nobody knows how pytest ended; beside another eval it would hide that one."""
    write(evals)
    run = evals.run("shop.eval.yaml", "--eval-set", "gate={}")
    assert evals.run_command("push", str(run.folder), bucket, "--name=nightly").ret == 0
    accept = (f"--eval-output={bucket}", NAME, "--eval-accept-done")
    assert evals.run("shop.eval.yaml", *accept).ret == pytest.ExitCode.USAGE_ERROR
    evals.write_config("other.eval.yaml")
    assert [evals.run("other.eval.yaml", *accept).ret for _ in range(2)] == [0, 0]
    both = evals.run("other.eval.yaml", "shop.eval.yaml", *accept)
    assert both.ret == pytest.ExitCode.USAGE_ERROR
    alone = evals.run("shop.eval.yaml", f"--eval-output={bucket}", "--eval-accept-done")
    assert "no effect without --eval-run-name" in alone.stderr.str()


@pytest.mark.parametrize("change", ["rows", "gate", "config", "fewer", "one"])
def test_what_was_done_by_other_settings_is_not_accepted(evals: Evals, bucket: str, change: str) -> None:
    """Its exit code says nothing of edited rows, of a stricter gate, or of rows that it had not selected."""
    write(evals, gate={"min_pass_rate": 0.5})
    accept = (f"--eval-output={bucket}", NAME, "--eval-accept-done")
    few = {"fewer": ("-k", "b"), "one": ("--eval-limit=1", "--eval-set", "gate.min_pass_rate=0")}.get(
        change, ()
    )
    assert [evals.run("shop.eval.yaml", *accept, *few).ret for _ in range(2)] == [0, 0]
    calls(evals)
    if change == "rows":
        evals.write_rows(*(row(name) for name in ("bad", "b", "c", "new")))
    elif change == "gate":
        write(evals, gate={"min_pass_rate": 0.9})
    elif change == "config":
        write(evals, gate={"min_pass_rate": 0.5}, limits={"max_steps": 3})
    run = evals.run("shop.eval.yaml", *accept)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "parts/1-of-1 is done already, by other settings" in run.stdout.str() + run.stderr.str()
    assert calls(evals) == []


def test_a_run_is_divided_in_one_way(evals: Evals, bucket: str) -> None:
    """Else a shard by mistake would make a run that is done one that nobody can read."""
    write(evals)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    calls(evals)
    shard = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, "--eval-shard=1/2")
    assert shard.ret == pytest.ExitCode.USAGE_ERROR
    assert "was divided otherwise: it has part 1-of-1, and this is 1-of-2" in shard.stderr.str()
    assert calls(evals) == []
    alone = evals.run("shop.eval.yaml", "--eval-shard=1/2", "--eval-set", "gate={}")
    pushed = evals.run_command("push", str(alone.folder), bucket, "--name=nightly")
    assert (pushed.ret, len(objects(evals, "claim-*"))) == (4, 1)
    assert (
        evals.run_command("gate", f"{bucket}/shop/nightly", "--eval-set", "gate.min_pass_rate=0.5").ret == 0
    )
    assert run.folder.is_dir()


def test_a_run_is_decided_about_for_one(evals: Evals, bucket: str) -> None:
    """A Job that is created anew by the same manifest decides nothing by what an earlier one has run."""
    write(evals)
    evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    url = f"{bucket}/shop/nightly"
    assert [evals.run_command("claim", url, f"--by={by}").ret for by in ("a", "a", "b", "a")] == [0, 0, 4, 0]
    refused = evals.run_command("claim", url, "--by=b")
    refused.stderr.fnmatch_lines(["*shop/nightly is decided already, and nothing of it was run again.*"])
    assert evals.run_command("gate", url, "--eval-set", "gate.min_pass_rate=0.5").ret == 0
    assert "shop " in evals.run_command("runs", bucket).stdout.str()
    for other in (f"{url}/parts/1-of-1", bucket):
        assert evals.run_command("claim", other, "--by=a").ret == 4
