"""Rows as items: three verdicts, their texts, and pytest's own selection."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, errored_row, row

pytestmark = pytest.mark.quick


def test_three_verdicts_are_three_outcomes(evals: Evals) -> None:
    """A right answer passes, a wrong one fails in the call, an unreachable page errs in the setup."""
    result = evals.play([row("good"), row("bad", says="wrong"), errored_row("broken")])
    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert result.ret == 1
    summary = evals.summary()
    assert summary["pass_rate"] == 0.5
    assert (summary["judged"], summary["errored"]) == (2, 1)
    assert summary["errors_by_source"] == {"navigation": 1}


def test_a_failure_reads_like_a_report(evals: Evals) -> None:
    """The failure text has task, answer, the grade with its reason, the steps and the folder."""
    result = evals.play([row("bad", says="wrong")])
    result.stdout.re_match_lines(
        [
            r"failed: .*",
            r"task +Say the answer of bad\.",
            r"folder +.*tasks/bad/default/1/attempt-1",
            r"answer +'wrong'",
            r"grade +answer: failed, score 0.*",
            r".*done\(answer=\"wrong\"\).*",
        ]
    )


def test_an_errored_attempt_is_tried_again_and_both_are_kept(evals: Evals) -> None:
    """Only an errored attempt is retried, and every attempt stays in the run folder."""
    evals.play([errored_row("broken"), row("bad", says="wrong")], retries=2)
    tasks = evals.run_folder() / "tasks"
    assert len(list((tasks / "broken").glob("*/*/attempt-*"))) == 3
    assert len(list((tasks / "bad").glob("*/*/attempt-*"))) == 1


def test_the_attempt_folder_holds_what_the_formats_say(evals: Evals) -> None:
    """Metadata, messages, grades and a numbered picture are on disk under the permanent names."""
    evals.play([row("good")])
    run = evals.run_folder()
    folder = run / "tasks/good/default/1/attempt-1"
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["verdict"] == "passed"
    assert metadata["termination_reason"] == "completed"
    kinds = [json.loads(line)["type"] for line in (folder / "messages.jsonl").read_text().splitlines()]
    assert kinds == ["user", "tool_call", "tool_result"]
    assert json.loads((folder / "grades.json").read_text())["answer"]["score"] == 1
    assert [p.name for p in (folder / "screenshots").iterdir()] == ["001.jpeg"]
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["browser"]
    assert len(manifest["tool_schema_hash"]) == 16
    assert not list((run / "in-flight").iterdir())


def test_k_m_and_collect_only_select_without_running(evals: Evals) -> None:
    """``-k`` matches ids, ``-m`` tags and datasets as registered markers; ``--co`` makes no run folder."""
    by_name = evals.play([row("buy-mug", tags=["smoke"]), row("buy-pen")], "--co", "-q", "-k", "pen")
    by_name.stdout.fnmatch_lines(["shop.eval.yaml::buy-pen", "*1/2 tests collected (1 deselected)*"])
    by_tag = evals.run("shop.eval.yaml", "--co", "-q", "-m", "smoke and unit", "--strict-markers")
    by_tag.stdout.fnmatch_lines(["shop.eval.yaml::buy-mug", "*1/2 tests collected (1 deselected)*"])
    assert not (evals.path / "results").exists()


def test_last_failed_first_and_stop_work(evals: Evals) -> None:
    """``--lf`` runs the bad rows only, brackets in ids included; ``--ff`` runs them first; ``-x`` stops."""
    evals.play([row("a"), row("b", says="wrong"), row("c")], trials=2).assert_outcomes(passed=4, failed=2)
    evals.run("shop.eval.yaml", "--lf").assert_outcomes(failed=2)
    first = evals.run("shop.eval.yaml", "--ff", "-v", "-x")
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["shop.eval.yaml::b?1? FAILED*"])


def test_maxfail_counts_rows(evals: Evals) -> None:
    """``--maxfail`` ends the run after so many bad rows, also with lanes; the advice comes to the rest."""
    result = evals.play([row(f"r{n}", says="wrong") for n in range(12)], "--maxfail=2", lanes=2)
    result.assert_outcomes(failed=2)
    assert len(list((evals.run_folder() / "tasks").iterdir())) <= 4
    advice = next(line for line in result.outlines if "--eval-resume" in line).split()
    evals.run(*advice[advice.index("shop.eval.yaml") :]).assert_outcomes(failed=12)


def test_variants_and_trials_multiply(evals: Evals) -> None:
    """Each row is run by each variant in each trial, and names tell them apart."""
    result = evals.play([row("a")], "-v", variants={"plays": "scripted", "idle": "noop"}, trials=2)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        ["*a?plays-1? PASSED*", "*a?plays-2? PASSED*", "*a?idle-1? FAILED*", "*a?idle-2? FAILED*"]
    )
    only = evals.run("shop.eval.yaml", "--eval-agent=plays", "--eval-trials=1", "-v")
    only.assert_outcomes(passed=1)


def test_setup_only_and_fixture_listings_cost_nothing(evals: Evals) -> None:
    """``--setup-only``, ``--setup-plan`` and ``--fixtures-per-test`` start no attempt."""
    evals.write([row("a")])
    for option in ("--setup-only", "--setup-plan", "--fixtures-per-test"):
        assert evals.run("shop.eval.yaml", option).ret == 0
    assert not (evals.path / "results").exists()


def test_conftest_fixtures_surround_rows(evals: Evals) -> None:
    """Fixtures of a conftest of every scope apply to rows; an own one makes a row run alone."""
    evals.write([row("a"), row("b"), row("c")], lanes=3)
    evals.pytester.makeconftest(
        """
        import pytest, pathlib
        LOG = pathlib.Path("log.txt")

        def log(word):
            with LOG.open("a") as file:
                file.write(word + " ")

        @pytest.fixture(scope="session", autouse=True)
        def app():
            log("app+"); yield; log("app-")

        @pytest.fixture(scope="module", autouse=True)
        def data():
            log("data+"); yield; log("data-")

        @pytest.fixture(autouse=True)
        def own():
            log("own+"); yield; log("own-")

        def pytest_browsereval_window_opened(window, task):
            log(task.query_id)
        """
    )
    evals.run("shop.eval.yaml").assert_outcomes(passed=3)
    order = (evals.path / "log.txt").read_text().strip()
    assert order == "app+ data+ own+ a own- own+ b own- own+ c own- data- app-"
