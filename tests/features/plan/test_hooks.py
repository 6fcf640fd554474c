"""``--eval-plan``: what a run will take; no browser, no agent, no run folder."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, row
from tests.recorded import spoil_line


def test_a_first_plan_says_what_is_unknown(evals: Evals) -> None:
    """Counted, not estimated; ordinary tests are not run either."""
    evals.write_rows(row("a"), row("b"))
    variants = {"x": "scripted", "y": "noop"}
    evals.write_config(variants=variants, trials=3, retries=1, lanes=2, budget={"max_minutes": 5})
    (evals.path / "test_own.py").write_text("def test_it():\n    assert False\n")
    for args in ((), ("-n", "2")):
        result = evals.run("--eval-plan", *args, "shop.eval.yaml", "test_own.py")
        assert result.ret == 0
        result.stdout.fnmatch_lines(
            [
                "*plan of eval shop*",
                "to run: 12 trials (2 tasks, 2 variants, 3 trials each), at most 24 attempts",
                "tokens, cost and time: unknown, because there is no earlier run of this config",
                "limits: budget.max_minutes 5",
                "plus 1 test outside evals",
                "nothing was run (--eval-plan)",
            ]
        )
        assert not (evals.path / "results").exists()


def test_a_plan_rests_on_the_last_run(evals: Evals) -> None:
    """With it, what is left of a run that is resumed; neither writes anything."""
    evals.write([row("a"), row("b")], lanes=2)
    evals.run("shop.eval.yaml::a")
    folder = evals.run_folder()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    planned = evals.run("shop.eval.yaml", "--eval-plan")
    planned.stdout.fnmatch_lines(
        [
            "to run: 2 trials (2 tasks), at most 2 attempts",
            f"estimate from run {folder.name}:",
            "  0 tokens in, 0 out, $0.00 at the prices of that run",
            "* s, 2 attempts at a time",
            "  1 trial of tasks that are new since then: estimated by the mean of their variant",
        ]
    )
    resumed = evals.run("shop.eval.yaml", "--eval-plan", "--eval-resume")
    resumed.stdout.fnmatch_lines(["to run: 1 trial (1 task), at most 1 attempt"])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert list((evals.path / "results/shop").iterdir()) == [folder]


def test_a_plan_checks_what_a_run_would(evals: Evals) -> None:
    """A wrong row is told now."""
    result = evals.play([row("a", graders=["answr"])], "--eval-plan")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*Did you mean 'answer'*"])


def test_nothing_is_run_where_there_is_no_eval(evals: Evals) -> None:
    """A test by hand is not run either, nor an ordinary one; a damaged last run is told."""
    (evals.path / "test_own.py").write_text("def test_it(run_eval):\n    assert False\n")
    result = evals.run("--eval-plan", "test_own.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["nothing was run (--eval-plan)"])
    evals.play([row("a")])
    spoil_line(evals.run_folder(), "a")
    result = evals.run("--eval-plan", "shop.eval.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["tokens, cost and time: unknown, because *is damaged: verdict*"])


def test_a_program_reads_one_line_of_json(evals: Evals) -> None:
    """Nothing else is printed, and a file after the option is an argument of its own."""
    evals.write([row("a"), row("b")], lanes=2, budget={"max_minutes": 5})
    (evals.path / "test_own.py").write_text("def test_it():\n    assert False\n")
    first = evals.run("--eval-plan-json", "shop.eval.yaml", "test_own.py")
    assert first.ret == 0
    plan = json.loads(str(first.stdout))
    assert plan["other_tests"] == 1
    (shop,) = plan["evals"]
    assert shop["trials"] == {"least": 2, "most": 2}
    assert shop["estimate"] is None
    assert shop["why_unknown"] == "there is no earlier run of this config"
    assert shop["limits"] == {"budget.max_minutes": 5}
    assert not (evals.path / "results").exists()
    evals.run("shop.eval.yaml::a")
    (shop,) = json.loads(str(evals.run("shop.eval.yaml", "-v", "--eval-plan-json").stdout))["evals"]
    assert shop["eval"] == "shop"
    assert shop["estimate"]["run"] == evals.run_folder().name
    assert shop["estimate"]["by_variant"] == 1
    assert shop["estimate"]["most"]["cost_usd"] == 0
    assert shop["text"][0] == "to run: 2 trials (2 tasks), at most 2 attempts"
