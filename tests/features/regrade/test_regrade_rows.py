"""Stored attempts graded again by corrected rows: which may be, and what the run says of it then."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.model.tasks import Task
from tests.features.regrade.test_regrade import attempt, read
from tests.hooks.small_evals import Evals, row
from tests.recorded import read_history

CURRENT = ("--eval-config=shop.eval.yaml", "--eval-regrade=latest", "--eval-regrade-rows=current")
STORED = CURRENT[:2]


def hash_of(given: dict[str, Any]) -> str:
    return Task.model_validate(given).content_hash()


def test_corrected_rows_are_graded(evals: Evals) -> None:
    """Answers of today judge, also those of protected rows; the run records which rows they were."""
    wrong = [row("a", answer="wrong"), row("p", answer="wrong", protected=True), row("same")]
    right = [row("a"), row("p", protected=True), row("same")]
    assert evals.play(wrong, gate={"must_pass": ["a", "p"]}).ret == 1

    evals.write_rows(*right)
    kept = evals.run(*STORED)  # the row of `p` is not what it was, and its answer is nowhere else
    assert kept.ret == 4
    kept = evals.run("shop.eval.yaml::a", *STORED[1:])
    assert kept.ret == 1
    kept.stdout.fnmatch_lines(
        ["*2 of the rows were edited since the run (a, p): *--eval-regrade-rows=current*"]
    )

    again = evals.run(*CURRENT)
    assert again.ret == 0
    again.stdout.fnmatch_lines(
        [
            "*regrading results/shop/* with the current rows",
            "*note: 2 of the rows were edited since the run (a, p): *by the rows as they are now*",
            "regraded 3 attempts: 2 failed -> passed, 1 unchanged",
        ]
    )
    for before, after in zip(wrong, right, strict=True):
        name = after["query_id"]
        *lines, _ = read_history(evals.run_folder(), name)
        assert lines[-1]["row_hash"] == hash_of(before)
        assert read(evals, name)["row_hash"] == hash_of(after)
    assert read(evals, "a", "task.json")["task"]["answer"] == "right"
    assert "right" not in (attempt(evals, "p") / "task.json").read_text()

    stored = evals.run(*STORED)  # the rows that judged last are the ones that the run has stored
    assert stored.ret == 0
    assert "were edited" not in stored.stdout.str()


@pytest.mark.parametrize(
    ("says", "verdict"), [("ada-of-the-shop", "passed"), ("quite-another-one", "failed")]
)
def test_what_is_redacted_is_not_compared_again(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, says: str, verdict: str
) -> None:
    """All secrets are recorded as the same word: the grade of the attempt stays, and another grader errs."""
    monkeypatch.setenv("SHOP_USER", "ada-of-the-shop")
    monkeypatch.setenv("SHOP_PASSWORD", "quite-another-one")
    named = {"says": f"Logged in: {says}", "answer": "ada-of-the-shop"}
    graders = [{"type": "answer", "match": "includes"}]
    evals.write_rows(*(row(name, graders=graders, protected=name == "p", **named) for name in ("a", "p")))
    evals.write_config(variables=["SHOP_USER", "SHOP_PASSWORD"])
    code = {"passed": 0, "failed": 1}[verdict]
    assert evals.run("shop.eval.yaml").ret == code
    for rows in (STORED, CURRENT, STORED):
        assert evals.run(*rows).ret == code
        for name in ("a", "p"):
            assert read(evals, name)["verdict"] == verdict
            reason = read(evals, name)["grader_results"]["answer"]["reasoning"]
            assert reason.count("Not graded again") == 1
    evals.write_config(
        variables=["SHOP_USER", "SHOP_PASSWORD"], graders=[{"type": "answer", "match": "exact"}]
    )
    evals.run(*STORED)
    for name in ("a", "p"):
        assert read(evals, name)["verdict"] == "errored"
        assert "Run the task again" in read(evals, name)["reason"]


def test_a_new_row_is_left_out_and_counted(evals: Evals) -> None:
    """It has no attempt that could be judged; without a note it would seem to be graded."""
    assert evals.play([row("a", answer="wrong")]).ret == 1
    evals.write_rows(row("a"), row("new"), row("newer"))
    again = evals.run(*CURRENT)
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(
        ["*note: 2 rows of the dataset have no attempt in the run (new, newer) and no grade: *"]
    )
    assert "no attempt in the run" not in evals.run(*STORED).stdout.str()


@pytest.mark.slow
def test_the_run_stands_for_the_corrected_rows(evals: Evals) -> None:
    """A comparison pairs it with a run of the corrected rows, and a resumed run has nothing to run."""
    evals.play([row("a", answer="wrong")])
    evals.write_rows(row("a"))
    assert evals.run(*CURRENT, "-n1").ret == 0
    graded = evals.run_folder().name
    resumed = evals.run("--eval-config=shop.eval.yaml", "--eval-resume=latest", "--eval-resume-anyway")
    resumed.assert_outcomes(passed=1)
    resumed.stdout.fnmatch_lines(["*1 of 1 trial have a result, 0 to run*"])
    new = evals.run("shop.eval.yaml", f"--eval-baseline={graded}")
    new.stdout.fnmatch_lines(["*paired over 1 task judged in both*"])


OTHER_TASKS: dict[str, dict[str, Any]] = {
    "query": {"query": "Do something else."},
    "start_url": {"start_url": "about:blank#other"},
    "setup_script": {"setup_script": "window.x = 1"},
    "sites": {"sites": ["shop"]},
}


def test_other_tasks_are_refused(evals: Evals) -> None:
    """A row whose query, start page or sites changed is named before anything is graded."""
    names = [*OTHER_TASKS, "gone", "fine"]
    evals.play((row(name, answer="wrong") for name in names), browser="blank")
    before = read(evals, "fine")
    edited = [row(name, **keys) for name, keys in OTHER_TASKS.items()]
    evals.write_rows(*edited, row("fine"))
    refused = evals.run(*CURRENT)
    assert refused.ret == 4
    for number, key in enumerate(OTHER_TASKS, 1):
        assert f"rows.jsonl:{number}: row '{key}' has a different {key} than in the" in refused.stderr.str()
    assert "there is no longer a row 'gone'" in refused.stderr.str()
    assert "--eval-regrade-rows=stored" in refused.stderr.str()
    assert read(evals, "fine") == before
    evals.run("shop.eval.yaml::fine", *CURRENT[1:]).assert_outcomes(passed=1)


def test_rows_of_today_are_checked_like_those_of_a_run(evals: Evals) -> None:
    """A check that no grader of the row reads is refused, as is the option without --eval-regrade."""
    alone = evals.play([row("a")], "--eval-regrade-rows=current")
    assert (alone.ret, "--eval-regrade-rows has no effect" in alone.stderr.str()) == (4, True)
    evals.run("shop.eval.yaml").assert_outcomes(passed=1)
    evals.write_rows(row("a", checks=[{"text": "Thank you"}]))
    refused = evals.run(*CURRENT)
    assert (refused.ret, "no grader that reads it" in refused.stderr.str()) == (4, True)


@pytest.mark.slow
def test_evidence_of_something_else_is_not_judged(evals: Evals) -> None:
    """A state that was read from another source is errored, however often it is graded again."""

    def of(expression: str, value: int) -> dict[str, Any]:
        grader = {"type": "state_diff", "source": {"js": expression}}
        return row("a", graders=[grader], checks=[{"path": "n", "equals": value}], answer=None)

    evals.play([of("({n: 1})", 1)], browser="playwright").assert_outcomes(passed=1)
    evals.write_rows(of("({n: 2})", 1))
    for _ in range(2):
        other = evals.run(*CURRENT)
        other.assert_outcomes(errors=1)
        assert "the run observed something else for this grader" in other.stdout.str()
    evals.write_rows(of("({n: 1})", 2))
    evals.run(*CURRENT).assert_outcomes(failed=1)
    evals.write_config(browser="playwright", graders=[{"type": "state_diff", "source": {"js": "({n: 3})"}}])
    evals.run(*STORED).assert_outcomes(errors=1)


def test_a_row_that_a_mark_skips_keeps_the_run_from_being_green(evals: Evals) -> None:
    """Its old grade is of the row as it was; without a gate the exit code says so."""
    evals.play([row("a"), row("b")])
    evals.write_rows(row("a", answer="other"), row("b"))
    evals.pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip(reason="so"))
        """
    )
    run = evals.run("shop.eval.yaml", "--eval-regrade=latest", "--eval-regrade-rows=current")
    run.assert_outcomes(passed=1, skipped=1)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 trial kept older grades when the run was regraded: a." in " ".join(run.stdout.str().split())
