"""``--eval-shard=auto``: the part of a run that an engine says, and never all of it by mistake."""

from __future__ import annotations

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shard.engines import ENGINES, find_shard
from pytest_browsereval.run.shards import Shard
from tests.features.shard.test_sharding import ROWS, parts
from tests.hooks.small_evals import Evals

NAMES = [name for engine in ENGINES.values() for name in (engine.which, engine.total)]


def slurm(which: object, count: int = 4, last: int = 4) -> dict[str, str]:
    """Return what Slurm sets in a task of an array."""
    return {
        f"SLURM_ARRAY_TASK_{name}": str(value)
        for name, value in {"ID": which, "COUNT": count, "MAX": last}.items()
    }


def test_every_engine_is_understood(subtests: pytest.Subtests) -> None:
    """Where they begin to count differs; a CI that says "one of one" in every job counts only alone."""
    alone = {"SYSTEM_JOBPOSITIONINPHASE": "1", "SYSTEM_TOTALJOBSINPHASE": "1"}
    cases: list[tuple[str, dict[str, str], Shard, str]] = [
        ("auto/4", slurm(4), Shard(4, 4), "Slurm"),
        ("auto", slurm(2) | alone | {"CI_NODE_TOTAL": "1"}, Shard(2, 4), "Slurm"),
        ("auto/4", {"JOB_COMPLETION_INDEX": "0"}, Shard(1, 4), "Kubernetes"),
        *(
            ("auto", {one.which: str(one.first + 1), one.total: "3"}, Shard(2, 3), name)
            for name, one in ENGINES.items()
            if one.total and not one.last
        ),
    ]
    for given, environment, shard, engine in cases:
        with subtests.test(given=given, environment=environment):
            found, source = find_shard(given, environment)
            assert (found, source.partition(" ")[0]) == (shard, engine)


def test_whatever_is_unclear_is_refused(subtests: pytest.Subtests) -> None:
    """A job that ran all rows would look like a success."""
    gitlab = {"CI_NODE_INDEX": "1"}
    cases: list[tuple[str, dict[str, str], str]] = [
        ("auto", {}, r"no variable says which part \(there could be SLURM_ARRAY_TASK_ID \(Slurm\), JOB_"),
        ("auto", {"JOB_COMPLETION_INDEX": "0"}, r"how many parts there are.*`--eval-shard=auto/4`"),
        ("auto/4", {"JOB_COMPLETION_INDEX": "4"}, r"there is no part 5 of 4 \(Kubernetes: JOB_C\S+='4'"),
        ("auto", {"CI_NODE_TOTAL": "3"}, r"CI_NODE_INDEX is not set \(GitLab: CI_NODE_TOTAL='3'\)"),
        ("auto", gitlab, r"CI_NODE_TOTAL is not set"),
        ("auto", gitlab | {"CI_NODE_TOTAL": "1"}, r"number of parts is 1, not 2 or more.*`--eval-shard=1/4`"),
        ("auto/4", slurm(3, 1, 3), r"number of parts is 1, not 4"),
        ("auto", slurm(4, 3), r"ids of the array do not go from 1"),
        ("auto", slurm("²"), r"SLURM_ARRAY_TASK_ID is '²', which is not a number"),
        ("auto", slurm(2) | gitlab, r"2 engines say which part this is \(Slurm: SLURM.*; GitLab: CI_"),
        *(
            (given, slurm(1), r"is not a part of a run")
            for given in ("auto/1", "auto/0", "auto/", "automatic")
        ),
    ]
    for given, environment, message in cases:
        with (
            subtests.test(given=given, environment=environment, message=message),
            pytest.raises(UsageError, match=message),
        ):
            find_shard(given, environment)


@pytest.mark.slow
def test_a_worker_runs_the_part_of_its_controller(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own environment may be that of another engine: here it says nothing, and then another part."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CI_NODE_INDEX", "1")
    monkeypatch.setenv("CI_NODE_TOTAL", "2")
    run = evals.play(ROWS, "--eval-shard=auto", "--tx=1*popen//env:CI_NODE_INDEX=2", "--dist=load")
    assert run.ret == 0
    assert parts(run.folder)["have"] == [1]
    alone = evals.run("shop.eval.yaml", "--eval-shard=1/2")
    assert run.parseoutcomes()["passed"] == alone.parseoutcomes()["passed"]


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=["alone", "worker"]
)
def test_the_part_is_run_and_its_source_printed(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    """The manifest says it as with a number; the parts of all jobs are the run."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    evals.write(ROWS)
    passed = 0
    for index in ("1", "2"):
        monkeypatch.setenv("CI_NODE_INDEX", index)
        monkeypatch.setenv("CI_NODE_TOTAL", "2")
        run = evals.run("shop.eval.yaml", "--eval-shard=auto", *args)
        source = f"GitLab (CI_NODE_INDEX='{index}', CI_NODE_TOTAL='2')"
        run.stdout.fnmatch_lines([f"browsereval: shard {index}/2, says {source}"])
        assert run.ret == 0
        assert parts(run.folder)["have"] == [int(index)]
        passed += run.parseoutcomes()["passed"]
    assert passed == len(ROWS)
