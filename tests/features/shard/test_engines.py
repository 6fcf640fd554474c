"""``--eval-shard=auto``: the part of a run that an engine says, and never all of it by mistake."""

from __future__ import annotations

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shard.engines import ENGINES, find_shard
from pytest_browsereval.run.shards import Shard
from tests.features.shard.test_sharding import ROWS, parts
from tests.hooks.small_evals import Evals

NAMES = [name for engine in ENGINES for name in engine.variables]


def slurm(which: object, count: object = 4, least: int = 1, most: int = 4, step: int = 1) -> dict[str, str]:
    """Return what Slurm sets in a task of an array."""
    values = {"ID": which, "COUNT": count, "MIN": least, "MAX": most, "STEP": step}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in values.items()}


def azure(which: int, of: int) -> dict[str, str]:
    """Return what Azure sets in every job."""
    return {"SYSTEM_JOBPOSITIONINPHASE": str(which), "SYSTEM_TOTALJOBSINPHASE": str(of)}


def test_every_engine_is_understood(subtests: pytest.Subtests) -> None:
    """Where they begin to count differs; a CI that says "one of one" in every job counts only alone."""
    cases: list[tuple[str, dict[str, str], Shard, str]] = [
        ("auto", slurm(2), Shard(2, 4), "Slurm"),
        ("auto/4", slurm(4), Shard(4, 4), "Slurm"),
        ("auto", slurm(0, least=0, most=3), Shard(1, 4), "Slurm"),
        ("auto", slurm(30, least=10, most=40, step=10), Shard(3, 4), "Slurm"),
        ("auto/4", {"JOB_COMPLETION_INDEX": "0"}, Shard(1, 4), "Kubernetes"),
        ("auto", {"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "3"}, Shard(1, 3), "GitLab"),
        ("auto", {"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "2"}, Shard(1, 2), "CircleCI"),
        (
            "auto",
            {"BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "2"},
            Shard(2, 2),
            "Buildkite",
        ),
        ("auto", azure(2, 5), Shard(2, 5), "Azure"),
        ("auto", {"EVAL_JOB_INDEX": "3", "EVAL_JOB_TOTAL": "4"}, Shard(4, 4), "GitHub"),
        ("auto", slurm(2) | azure(1, 1) | {"CI_NODE_TOTAL": "1"}, Shard(2, 4), "Slurm"),
    ]
    for given, environment, shard, engine in cases:
        with subtests.test(given=given, environment=environment, shard=shard):
            found, source = find_shard(given, environment)
            assert (found, source.partition(" ")[0]) == (shard, engine)


def test_whatever_is_unclear_is_refused(subtests: pytest.Subtests) -> None:
    """A job that ran all rows would look like a success."""
    cases: list[tuple[str, dict[str, str], str]] = [
        (
            "auto",
            {},
            r"no variable says which part this is \(There could be SLURM_ARRAY_TASK_ID \(Slurm\), JOB_",
        ),
        ("auto", {"JOB_COMPLETION_INDEX": "0"}, r"how many parts there are.*`--eval-shard=auto/4`"),
        ("auto/4", {"JOB_COMPLETION_INDEX": "4"}, r"there is no part 5 of 4 \(Kubernetes: JOB_C\S+='4'"),
        ("auto", {"CI_NODE_TOTAL": "1"}, r"one job only"),
        ("auto", {"CI_NODE_TOTAL": "3"}, r"GitLab has set CI_NODE_TOTAL='3', and has not set CI_NODE_INDEX"),
        ("auto", {"CI_NODE_INDEX": "1"}, r"has not set CI_NODE_TOTAL"),
        ("auto", {"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "1"}, r"one job only.*Start several"),
        ("auto", azure(1, 1), r"one job only was started, which would run all.*SYSTEM_TOTAL\S+='1'"),
        ("auto", slurm(3, 1, least=3, most=3), r"one job only .*`--eval-shard=1/4`"),
        ("auto/4", slurm(3, 1, least=3, most=3), r"another number of jobs .*none of 4 parts"),
        ("auto", slurm(4, 3), r"ids of Slurm's array have gaps"),
        ("auto", slurm("two"), r"SLURM_ARRAY_TASK_ID of Slurm is not a number: 'two'"),
        ("auto", slurm("²"), r"is not a number"),
        ("auto", slurm(9), r"gaps"),
        ("auto", {"EVAL_JOB_INDEX": "", "EVAL_JOB_TOTAL": ""}, r"EVAL_JOB_TOTAL of GitHub is not a number"),
        ("auto", slurm(2) | azure(2, 4), r"2 engines say which part this is.* \(Slurm: SLURM.*; Azure: SYS"),
        ("auto", azure(1, 1) | {"CI_NODE_TOTAL": "1"}, r"2 engines"),
        ("auto/1", slurm(1), r"`auto`, `auto/4` where"),
        ("auto/0", slurm(1), r"is not a part of a run"),
        ("auto/", slurm(1), r"is not a part of a run"),
        ("automatic", slurm(1), r"is not a part of a run"),
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
    evals.write_rows(*ROWS)
    evals.write_config()
    run = evals.run("shop.eval.yaml", "--eval-shard=auto", "--tx=1*popen//env:CI_NODE_INDEX=2", "--dist=load")
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
    evals.write_rows(*ROWS)
    evals.write_config()
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


def test_nothing_runs_where_no_engine_says_it(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A usage error, before anything is collected."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    evals.write_rows(*ROWS)
    evals.write_config()
    run = evals.run("shop.eval.yaml", "--eval-shard=auto")
    assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    run.stderr.fnmatch_lines(["ERROR: --eval-shard=auto: no variable says which part this is *"])
