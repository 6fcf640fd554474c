"""Records that something else than the run writes: their trials have no result, and the run is incomplete."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import WORKERS, Evals, row
from tests.recorded import remove_lines

pytestmark = pytest.mark.quick

AGENT = """
import json, pathlib, time

def wait_for(context, query_id):
    results = pathlib.Path(str(context.base_dir)) / "results"
    while True:
        for file in results.glob("*/*/attempts/*.jsonl"):
            for line in file.read_text().splitlines():
                if json.loads(line)["query_id"] == query_id:
                    return file, line
        time.sleep(0.02)

def edit(context, **changes):
    file, line = wait_for(context, "fails")
    new = json.dumps({**json.loads(line), **changes}) + "\\n" if changes else ""
    file.write_text(file.read_text().replace(line + "\\n", new))

def append(context, **changes):
    file, line = wait_for(context, "fails")
    with file.open("a") as lines:
        lines.write(json.dumps({**json.loads(line), "verdict": "passed", **changes}) + "\\n")

def change(context):
    edit(context, verdict="passed", reason="")

def damage(context):
    edit(context, verdict=7)

def remove(context):
    edit(context)

def add(context):
    append(context, attempt=2)

def revise(context):
    append(context, revision=2)

def retext(context):
    file, line = wait_for(context, "fails")
    (text,) = file.parents[1].glob("tasks/fails/default/1/attempt-1/text-*.txt")
    text.write_text("right")

def row(context):
    append(context, query_id="r9")

def nothing(context):
    pass

long_text = nothing

def solve(context):
    query_id = context.task.query_id
    if query_id == "rewrites":
        globals()[context.config.options.get("how", "change")](context)
    how = context.config.options["how"]
    return "wrong" * (20_000 if "text" in how else 1) if query_id == "fails" else "right"
"""


def write(evals: Evals, how: str = "change", **keys: Any) -> None:
    """Write an eval in which one row fails and another one works on its record."""
    evals.pytester.makepyfile(own=AGENT)
    evals.write_rows(row("fails"), row("rewrites"), row("c"))
    evals.write_config(agent={"type": "function", "function": "own:solve", "options": {"how": how}}, **keys)


def assert_found(run: EvalRun, attempt: str = "attempt-1") -> None:
    """Assert that the run names the record and does not count it."""
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR, run.stdout.str()
    assert f"tasks/fails/default/1/{attempt}. Find out" in " ".join(run.stdout.str().split())
    assert {one["query_id"]: one["verdict"] for one in run.summary["results"]} == {
        "rewrites": "passed", "c": "passed"
    }  # fmt: skip


@WORKERS
@pytest.mark.parametrize("how", ["change", "damage", "remove", "add", "revise"])
def test_a_rewritten_record_makes_the_run_incomplete(evals: Evals, how: str, workers: list[str]) -> None:
    """An agent that changes the record of another row cannot make it passed: exit code 3, and it is named."""
    write(evals, how, gate={"min_pass_rate": 0.1})
    run = evals.run("shop.eval.yaml", *workers)
    assert_found(run, "attempt-2" if how == "add" else "attempt-1")
    run.stdout.fnmatch_lines(["*1 of the run's 3 trials have no result*"])
    offline = evals.run_command("gate", str(run.folder))
    assert offline.ret != 0, offline.stdout.str()
    assert "1 of the run's 3 trials have no result" in offline.stdout.str()


def test_a_changed_long_text_is_named(evals: Evals) -> None:
    """A text above 64,000 characters is a file of its own, whose hash the line has."""
    write(evals, "long_text")
    run = evals.run("shop.eval.yaml")
    (answer,) = {one.final_answer for one in run.attempts if one.query_id == "fails"}
    assert answer == "wrong" * 20_000
    assert sum(path.stat().st_size for path in run.folder.glob("attempts/*")) < 10_000
    assert evals.run(f"--eval-regrade={run.folder}").ret == 1
    shutil.rmtree(run.folder)
    write(evals, "retext", gate={"min_pass_rate": 0.1})
    run = evals.run("shop.eval.yaml")
    (text,) = run.folder.glob("tasks/fails/default/1/attempt-1/text-*.txt")
    assert_found(run, f"attempt-1/{text.name}")
    shown = evals.run_command("view", str(run.folder))
    assert shown.ret == 0, shown.stderr.str()
    assert text.name in "".join(path.read_text() for path in run.folder.rglob("*.js")) + shown.stdout.str()


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


def test_a_record_of_a_test_by_hand_is_watched(evals: Evals) -> None:
    """The runs of tests by hand are looked at as well."""
    evals.write_rows(row("r0", says="wrong"))
    evals.pytester.makepyfile(
        test_hand="""
        import pytest

        @pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", graders=["answer"])
        def test_it(eval_task, run_eval):
            (file,) = run_eval(eval_task).folder.parents[4].glob("attempts/*.jsonl")
            file.write_text(file.read_text().replace('"failed"', '"passed"'))
        """
    )
    run = evals.run()
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "tasks/r0/default/1/attempt-1. Find out" in " ".join(run.stdout.str().split())
    told = [json.loads(line) for line in (run.folder / "rewritten.jsonl").read_text().splitlines()]
    assert [one["folder"] for one in told] == ["tasks/r0/default/1/attempt-1"] * 2


def test_a_foreign_record_stays_in_the_way(evals: Evals) -> None:
    """While it is there the run meets no gate, and no session is green."""
    write(evals, "row", gate={"min_pass_rate": 0.1})
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    decided = evals.run_command("gate", str(run.folder))
    assert decided.ret == 1
    said = " ".join(decided.stdout.str().split())
    assert (
        "changed or made are still there, of tasks/r9/default/1/attempt-1. Remove these lines, then" in said
    )
    again = evals.run("shop.eval.yaml", "--eval-resume", "--eval-set", "gate={}")
    assert again.ret == pytest.ExitCode.INTERNAL_ERROR
    remove_lines(run.folder, "r9")
    assert evals.run("shop.eval.yaml", "--eval-resume").ret == 0
    assert evals.run_command("gate", str(run.folder)).ret == 0


@pytest.mark.parametrize("content", [None, "", "junk", '{"folder": 3'])
def test_the_list_of_rewritten_records_is_missed(evals: Evals, content: str | None) -> None:
    """Without it the records would count; it is damaged, or the summary has no such result."""
    write(evals, gate={"min_pass_rate": 0.9})
    run = evals.run("shop.eval.yaml")
    assert_found(run)
    file = run.folder / "rewritten.jsonl"
    file.unlink() if content is None else file.write_text(content)
    for command in ("gate", "runs"):
        done = evals.run_command(command, str(run.folder))
        assert done.ret == 1, done.stdout.str()
    want = "without a result in summary.json" if content is None else "rewritten.jsonl is damaged or empty"
    assert want in " ".join(evals.run_command("gate", str(run.folder)).stdout.str().split())


FORGER = """
import json, os, pathlib, signal

HOW = {
    "passed": {},
    "errored": {"verdict": "errored", "error_source": "agent", "reason": "I forged it", "cost_usd": 9},
    "numbered": {"attempt": 50, "verdict": "failed"},
    "elsewhere": {"verdict": "failed"},
}

def forge(context, query_id, how):
    (run,) = (pathlib.Path(str(context.base_dir)) / "results").glob("*/*")
    (run / "attempts").mkdir(exist_ok=True)
    line = {
        "query_id": query_id, "dataset": "rows", "query": "?", "started_at": "2996-01-01T00:00:00.000Z",
        "completed_at": "2996-01-01T00:00:01.000Z", "total_duration_ms": 1, "total_steps": 0,
        "termination_reason": "completed", "final_answer": "right", "verdict": "passed", "row_hash": "",
    }
    worker = "other" if how == "elsewhere" else os.environ["PYTEST_XDIST_WORKER"]
    with (run / "attempts" / (worker + "-x.jsonl")).open("a") as lines:
        lines.write(json.dumps(line | HOW[how]) + "\\n")

def solve(context):
    mark = pathlib.Path(str(context.base_dir)) / "forged"
    how = context.config.options["how"]
    if context.task.query_id == "fails" and not mark.exists():
        mark.touch()
        forge(context, "fails", how)
        if how != "elsewhere":
            forge(context, "later", how)
        os.kill(os.getpid(), signal.SIGKILL)
    return "wrong"
"""


def write_forger(evals: Evals, how: str, **keys: Any) -> None:
    """Write an eval whose first row writes lines of attempts and kills its worker."""
    (evals.path / "own.py").write_text(FORGER)
    (evals.path / "forged").unlink(missing_ok=True)
    shutil.rmtree(evals.path / "results", ignore_errors=True)
    agent = {"type": "function", "function": "own:solve", "options": {"how": how}}
    evals.write([row("fails"), row("later")], agent=agent, **keys)


@pytest.mark.slow
def test_what_a_dead_worker_has_not_told_of_counts_for_nothing(
    evals: Evals, subtests: pytest.Subtests
) -> None:
    """A program that writes a line and kills its worker has won nothing: its death is a try at its row."""
    for how, retries in (("passed", 1), ("passed", 0), ("errored", 1), ("errored", 0), ("numbered", 1)):
        with subtests.test(how=how, retries=retries):
            write_forger(evals, how, retries=retries)
            run = evals.run_process("shop.eval.yaml", "-n1")
            assert run.ret == 1, run.stdout.str()
            found = {one["query_id"]: (one["verdict"], one["attempts"]) for one in run.summary["results"]}
            assert found == {"fails": ("failed", 2) if retries else ("errored", 1), "later": ("failed", 1)}
            of_row = [one for one in run.attempts if one.query_id == "fails"]
            assert [one.attempt for one in of_row] == list(range(1, 2 + retries))
            assert "the worker process gw0 died" in of_row[0].reason
            assert (run.summary["cost_usd"], "deaths" in run.summary) == (0, False)
            told = [json.loads(line) for line in (run.folder / "rewritten.jsonl").read_text().splitlines()]
            dropped = {(one["folder"].split("/")[1], one["until"]) for one in told}
            assert dropped == {("fails", None), ("later", None)}


@pytest.mark.slow
def test_a_later_death_hides_no_foreign_line(evals: Evals) -> None:
    """The session ends with exit code 3 and no gate is met, until a resume has made the trial again."""
    write_forger(evals, "elsewhere", gate={"min_pass_rate": 0})
    run = evals.run_process("shop.eval.yaml", "-n1")
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR, run.stdout.str()
    decided = evals.run_command("gate", str(run.folder))
    assert decided.ret == 1, decided.stdout.str()
    assert "1 of the run's 2 trials have no result: fails" in decided.stdout.str()
    assert evals.run("shop.eval.yaml", "--eval-resume", "--eval-set=retries=1").ret == 0
    assert evals.run_command("gate", str(run.folder)).ret == 0


LOSER = """
import pathlib

def solve(context):
    base = pathlib.Path(str(context.base_dir))
    lines = list((base / "results").glob("*/*/attempts/*.jsonl"))
    if not lines:
        raise ValueError("the first try breaks")
    if not (base / "lost").exists():
        (base / "lost").touch()
        lines[0].write_text("")
    return "right"
"""


def test_a_later_attempt_hides_no_line_that_is_gone(evals: Evals) -> None:
    """A program that removes the line of its first try, which broke, has not passed at once."""
    evals.pytester.makepyfile(own=LOSER)
    agent = {"type": "function", "function": "own:solve"}
    run = evals.play([row("a")], agent=agent, retries=1, gate={"min_pass_rate": 0.1})
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR, run.stdout.str()
    decided = evals.run_command("gate", str(run.folder))
    assert decided.ret == 1, decided.stdout.str()
    assert "1 of the run's 1 trials have no result: a" in decided.stdout.str()
    assert evals.run("shop.eval.yaml", "--eval-resume").ret == 0
    assert evals.run_command("gate", str(run.folder)).ret == 0
