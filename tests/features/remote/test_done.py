"""A part or a run at a URL that is done: what the same command says of it, and what it ends with."""

from __future__ import annotations

import pytest

from tests.features.remote.test_push_and_pull import objects
from tests.features.remote.test_resume import NAME, calls, write
from tests.hooks.small_evals import Evals


@pytest.mark.parametrize("more", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_what_is_done_is_said_at_once(evals: Evals, bucket: str, more: tuple[str, ...]) -> None:
    """Nothing runs, no folder is made, and an engine that accepts a part without rows accepts this one."""
    write(evals)
    args = ("--eval-config=shop.eval.yaml", f"--eval-output={bucket}", NAME)
    evals.run(*args)
    calls(evals)
    again = evals.run(*args, *more)
    assert (again.ret, again.folders) == (pytest.ExitCode.NO_TESTS_COLLECTED, ())
    assert "parts/1-of-1 is done already" in again.stdout.str() + again.stderr.str()
    assert "Nothing was run" in again.stdout.str() + again.stderr.str()
    assert calls(evals) == []


def test_next_to_another_eval_what_is_done_is_an_error(evals: Evals, bucket: str) -> None:
    """The other one would be left out."""
    write(evals)
    evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    calls(evals)
    evals.write_config("other.eval.yaml")
    both = evals.run("other.eval.yaml", "shop.eval.yaml", f"--eval-output={bucket}", NAME)
    assert (both.ret, both.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    assert "parts/1-of-1 is done already" in both.stdout.str() + both.stderr.str()
    assert calls(evals) == []


def test_a_run_is_divided_in_one_way(evals: Evals, bucket: str) -> None:
    """Else a shard by mistake would make a run that is done one that nobody can read."""
    write(evals)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME)
    calls(evals)
    shard = evals.run("shop.eval.yaml", f"--eval-output={bucket}", NAME, "--eval-shard=1/2")
    assert shard.ret == pytest.ExitCode.USAGE_ERROR
    assert "was divided otherwise: it has part 1-of-1. Take the same number of shards" in shard.stderr.str()
    assert calls(evals) == []
    alone = evals.run("shop.eval.yaml", "--eval-shard=1/2", "--eval-set", "gate={}")
    pushed = evals.run_command("push", str(alone.folder), bucket, "--name=nightly")
    assert (pushed.ret, len(objects(evals, "done"))) == (4, 1)
    assert (
        evals.run_command("gate", f"{bucket}/shop/nightly", "--eval-set", "gate.min_pass_rate=0.5").ret == 0
    )
    assert run.folder.is_dir()
