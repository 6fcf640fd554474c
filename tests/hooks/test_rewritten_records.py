"""Records that something else than the run writes: their trials have no result, and the run is incomplete."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.quick

WORKERS = pytest.mark.parametrize(
    "workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)], ids=["one", "two"]
)

AGENT = """
import json, pathlib, shutil, time

def wait_for(context, query_id):
    results = pathlib.Path(str(context.base_dir)) / "results"
    while True:
        for file in results.glob(f"*/*/tasks/{query_id}/default/1/*/metadata.json"):
            return file
        time.sleep(0.02)

def change(context):
    file = wait_for(context, "fails")
    record = json.loads(file.read_text())
    record["verdict"], record["reason"] = "passed", ""
    file.write_text(json.dumps(record))

def damage(context):
    wait_for(context, "fails").write_text("{")

def remove(context):
    wait_for(context, "fails").unlink()

def add(context):
    file = wait_for(context, "fails")
    record = json.loads(file.read_text())
    record["verdict"], record["attempt"] = "passed", 2
    folder = file.parent.with_name("attempt-2")
    shutil.copytree(file.parent, folder)
    (folder / "metadata.json").write_text(json.dumps(record))

def row(context):
    file = wait_for(context, "fails")
    record = json.loads(file.read_text())
    record["verdict"], record["query_id"] = "passed", "r9"
    folder = file.parents[3].with_name("r9")
    shutil.copytree(file.parents[3], folder)
    (folder / "default/1/attempt-1/metadata.json").write_text(json.dumps(record))

def nothing(context):
    pass

def solve(context):
    query_id = context.task.query_id
    if query_id == "rewrites":
        globals()[context.config.options.get("how", "change")](context)
    return "wrong" if query_id == "fails" else "right"
"""

GATES: list[dict[str, Any]] = [{}, {"gate": {"min_pass_rate": 0.1}}]


def write(evals: Evals, how: str = "change", **keys: Any) -> None:
    """Write an eval in which one row fails and another one works on its record."""
    evals.pytester.makepyfile(own=AGENT)
    evals.write_rows(row("fails"), row("rewrites"), row("c"))
    evals.write_config(agent={"type": "function", "function": "own:solve", "options": {"how": how}}, **keys)


def assert_found(run: EvalRun, attempt: str = "attempt-1") -> None:
    """Assert that the run names the record and does not count it."""
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR, run.stdout.str()
    assert f"tasks/fails/default/1/{attempt}/metadata.json" in run.stdout.str()
    assert {one["query_id"]: one["verdict"] for one in run.summary["results"]} == {
        "rewrites": "passed", "c": "passed"
    }  # fmt: skip


@WORKERS
@pytest.mark.parametrize("how", ["change", "damage", "remove", "add"])
def test_a_rewritten_record_makes_the_run_incomplete(evals: Evals, how: str, workers: list[str]) -> None:
    """An agent that changes the record of another row cannot make it passed: exit code 3, and it is named."""
    write(evals, how, gate={"min_pass_rate": 0.1})
    run = evals.run("shop.eval.yaml", *workers)
    assert_found(run, "attempt-2" if how == "add" else "attempt-1")
    run.stdout.fnmatch_lines(["*1 of the run's 3 trials have no result*"])
    offline = evals.run_command("gate", str(run.folder))
    assert offline.ret != 0, offline.stdout.str()
    assert "1 of the run's 3 trials have no result" in offline.stdout.str()


def test_a_record_is_missed_without_a_gate_too(evals: Evals) -> None:
    """A run of which nothing failed is incomplete when a record is gone."""
    write(evals, "remove")
    evals.write_rows(row("fails", answer="wrong"), row("rewrites"))
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(passed=2)
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "tasks/fails/default/1/attempt-1/metadata.json" in run.stdout.str()


def test_a_lost_trial_is_made_again_by_resume(evals: Evals) -> None:
    """Resuming runs the trial anew, whatever the record says by now; then the run is complete."""
    write(evals, gate={"min_pass_rate": 0.1})
    evals.run("shop.eval.yaml")
    again = evals.run("--eval-config=shop.eval.yaml", "--eval-resume")
    assert again.ret == 0, again.stdout.str()
    results = {one["query_id"]: one["verdict"] for one in again.summary["results"]}
    assert results == {"fails": "failed", "rewrites": "passed", "c": "passed"}
    folders = sorted(path.name for path in again.folder.glob("tasks/fails/default/1/*"))
    assert folders == ["attempt-1", "attempt-2"]


def test_a_record_of_an_earlier_session_is_watched_too(evals: Evals) -> None:
    """An agent of a resumed run cannot change what the first session has recorded."""
    write(evals, gate={"min_pass_rate": 0.1})
    evals.run("shop.eval.yaml", "-k", "fails")
    assert_found(evals.run("--eval-config=shop.eval.yaml", "--eval-resume"))


@WORKERS
def test_grading_again_writes_records(evals: Evals, workers: list[str]) -> None:
    """Records that the run itself writes again are its own."""
    write(evals, "nothing", gate={"min_pass_rate": 0.1})
    evals.run("shop.eval.yaml", *workers)
    again = evals.run("--eval-config=shop.eval.yaml", "--eval-regrade=latest", *workers)
    assert again.ret == 0, again.stdout.str()
    evals.run("--eval-config=shop.eval.yaml", "--eval-resume", *workers).assert_outcomes(passed=4, xfailed=1)


def test_a_hook_that_changes_a_record_is_found(evals: Evals) -> None:
    """A plug-in that writes into ``metadata.json`` is found as a program is."""
    evals.pytester.makeconftest(
        """
        def pytest_browsereval_task_done(metadata, folder):
            file = folder / "metadata.json"
            file.write_text(file.read_text().replace('"failed"', '"passed"'))
        """
    )
    write(evals, "nothing", gate={"min_pass_rate": 0.1})
    assert_found(evals.run("shop.eval.yaml"))


def test_a_record_of_a_test_by_hand_is_watched(evals: Evals) -> None:
    """The runs of tests by hand are looked at as well."""
    evals.write_rows(row("r0", says="wrong"))
    evals.pytester.makepyfile(
        test_hand="""
        import pytest

        @pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", graders=["answer"])
        def test_it(eval_task, run_eval):
            file = run_eval(eval_task).folder / "metadata.json"
            file.write_text(file.read_text().replace('"failed"', '"passed"'))
        """
    )
    run = evals.run()
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "tasks/r0/default/1/attempt-1/metadata.json" in run.stdout.str()
    told = json.loads((run.folder / "rewritten.jsonl").read_text())
    assert told["folder"] == "tasks/r0/default/1/attempt-1"


def test_a_foreign_record_stays_in_the_way(evals: Evals) -> None:
    """While its folder is there the run meets no gate, and no session is green."""
    write(evals, "row", gate={"min_pass_rate": 0.1})
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    decided = evals.run_command("gate", str(run.folder))
    assert decided.ret == 1
    said = " ".join(decided.stdout.str().split())
    assert "changed or made are still there: tasks/r9/default/1/attempt-1. Remove these folders, then" in said
    again = evals.run("shop.eval.yaml", "--eval-resume", "--eval-set", "gate={}")
    assert again.ret == pytest.ExitCode.INTERNAL_ERROR
    shutil.rmtree(run.folder / "tasks/r9")
    assert evals.run("shop.eval.yaml", "--eval-resume").ret == 0
    assert evals.run_command("gate", str(run.folder)).ret == 0


def test_a_part_with_a_foreign_record_is_not_merged(evals: Evals) -> None:
    """The merged run would not tell of it."""
    write(evals, "row")
    run = evals.run("shop.eval.yaml")
    shutil.copytree(run.folder, evals.path / "other")
    done = evals.run_command("merge", str(run.folder), str(evals.path / "other"), "-o", "whole")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "tasks/r9/default/1/attempt-1. Remove these folders" in done.stderr.str()


def test_a_rewritten_attempt_may_be_removed(evals: Evals) -> None:
    """The next one has a number of its own, so that it counts."""
    write(evals, gate={"min_pass_rate": 0.1})
    run = evals.run("shop.eval.yaml")
    shutil.rmtree(run.folder / "tasks/fails")
    again = evals.run("shop.eval.yaml", "--eval-resume")
    assert again.ret == 0, again.stdout.str()
    assert evals.run_command("gate", str(run.folder)).ret == 0


@pytest.mark.parametrize("content", [None, "", "junk", '{"folder": 3'])
def test_the_list_of_rewritten_records_is_missed(evals: Evals, content: str | None) -> None:
    """Without it the records would count; it is damaged, or the summary has no such result."""
    write(evals, gate={"min_pass_rate": 0.9})
    run = evals.run("shop.eval.yaml")
    assert_found(run)
    file = run.folder / "rewritten.jsonl"
    file.unlink() if content is None else file.write_text(content)
    for command in ("gate", "show"):
        done = evals.run_command(command, str(run.folder))
        assert done.ret == 1, done.stdout.str()
    want = "without a result in summary.json" if content is None else "rewritten.jsonl is damaged or empty"
    assert want in " ".join(evals.run_command("gate", str(run.folder)).stdout.str().split())
