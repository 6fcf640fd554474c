"""``latest-on-main``: the newest whole run of a branch as the baseline, by whole programs."""

from __future__ import annotations

import json

import pytest

from pytest_browsereval.run.branch import SYSTEMS
from tests.hooks.small_evals import Evals, row
from tests.run.test_branch import git

GATE = {"max_regressions": 0, "min_pass_rate": 0}
ON_MAIN = "--eval-baseline=latest-on-main"


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no CI system around: git says the branch."""
    for name in SYSTEMS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(evals: Evals) -> Evals:
    """Return an eval of two rows, committed on the branch main."""
    evals.write([row("mug"), row("cup")], gate=GATE | {"max_regressions": None})
    git(evals.path, "init", "-b", "main")
    (evals.path / ".gitignore").write_text("*\n!*.jsonl\n!*.yaml\n")
    commit(evals)
    return evals


def commit(evals: Evals) -> None:
    """Commit all files of the eval."""
    git(evals.path, "add", "rows.jsonl", "shop.eval.yaml")
    git(evals.path, "commit", "--allow-empty", "-m", "next")


def compare_rules(evals: Evals) -> None:
    """Have the gate compare, as in the job of a pull request, and a task that fails by now."""
    git(evals.path, "checkout", "-q", "-b", "topic")
    evals.write([row("mug"), row("cup", solution=[{"tool": "done", "answer": "wrong"}])], gate=GATE)
    commit(evals)


@pytest.mark.slow
def test_the_newest_whole_run_of_the_branch(project: Evals) -> None:
    """Runs of selected rows, cut-off ones, and those with changed files or of other branches are not it."""
    whole = project.run().folder
    project.run("-k", "mug")
    project.write_rows(row("mug"), row("cup", says="wrong"))
    project.run()
    git(project.path, "checkout", "-q", "--", "rows.jsonl")
    project.run("-x", "--eval-set", "agent.type=noop", "--eval-set", "gate={}")
    git(project.path, "checkout", "-q", "-b", "other")
    project.run()
    compare_rules(project)
    found = project.run(ON_MAIN)
    assert found.ret == 1
    found.stdout.fnmatch_lines([f"*1 task regressed against {whole.name}*"])
    named = ("latest", "--baseline", "latest-on-main", "--config", "shop.eval.yaml")
    gated = project.run_command("gate", *named)
    assert gated.ret == 1
    gated.stdout.fnmatch_lines([f"*1 task regressed against {whole.name}*"])
    shown = project.run_command("runs", "latest-on-main", "--config", "shop.eval.yaml")
    shown.stdout.fnmatch_lines([f"*{whole.name}*"])


def test_without_such_a_run_nothing_is_run(project: Evals) -> None:
    """It is refused before anything is spent, with what there is and what to do."""
    compare_rules(project)
    first = project.run(ON_MAIN)
    assert (first.ret, first.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    told = "latest-on-main: there is no earlier run. Run all rows first, without a baseline"
    assert told in first.stdout.str() + first.stderr.str()
    project.run("--eval-set", "gate={}")
    git(project.path, "checkout", "-q", "main")
    project.run("-k", "mug")
    second = project.run(ON_MAIN)
    assert second.ret == pytest.ExitCode.USAGE_ERROR
    said = second.stdout.str() + second.stderr.str()
    assert "no run on 'main' is whole" in said


@pytest.mark.slow
def test_a_run_that_is_graded_again_is_compared_with_those_before(project: Evals) -> None:
    """Not with itself; and it stays one of all rows."""
    first = project.run().folder
    second = project.run().folder
    project.write_config(gate=GATE)
    again = project.run("--eval-regrade=latest", ON_MAIN)
    assert again.ret == 0
    assert first.name in again.stdout.str()
    shown = project.run_command("runs", "latest-on-main", "--config", "shop.eval.yaml")
    shown.stdout.fnmatch_lines([f"*{second.name}*"])


@pytest.mark.slow
def test_a_run_that_another_branch_has_finished_is_on_none(project: Evals) -> None:
    """What it came to is the work of both; a session that had nothing to run changes nothing."""
    whole = project.run().folder
    git(project.path, "checkout", "-q", "-b", "other")
    project.run(f"--eval-resume={whole}")
    git(project.path, "checkout", "-q", "main")
    project.write_rows(row("mug", says="wrong"), row("cup"))
    commit(project)
    cut = project.run("-x", "--eval-set", "gate={}").folder
    git(project.path, "checkout", "-q", "-B", "other")
    assert project.run(f"--eval-resume={cut}").ret == 0
    project.run_command("runs", "--json", "all.json")
    runs = json.loads((project.path / "all.json").read_text())["runs"]
    branches = {run["run"].rpartition("/")[2]: run["branch"] for run in runs}
    assert branches == {whole.name: "main", cut.name: None}
    shown = project.run_command("runs", "latest-on-main", "--config", "shop.eval.yaml")
    shown.stdout.fnmatch_lines([f"*{whole.name}*"])


def test_a_run_of_one_variant_of_several_is_not_whole(project: Evals) -> None:
    """Nothing of the others could be compared with it."""
    variants = {"a": {"type": "scripted"}, "b": {"type": "scripted"}}
    project.write_config(variants=variants)
    commit(project)
    whole = project.run().folder
    project.run("--eval-agent=a")
    shown = project.run_command("runs", "latest-on-main", "--config", "shop.eval.yaml")
    shown.stdout.fnmatch_lines([f"*{whole.name}*"])
