"""The gate: rules as items, rows xfailed, exit codes by pytest's own counting."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.hooks.small_evals import WORKERS, Evals, errored_row, row

MIXED = (row("a"), row("b"), row("c"), row("d", says="wrong"))


@WORKERS
def test_a_met_gate_is_green_with_no_red_row(evals: Evals, workers: list[str]) -> None:
    """Under a gate that is met, bad rows are xfailed, its rules pass, and the exit code is 0."""
    result = evals.play(MIXED, "-v", *workers, gate={"min_pass_rate": 0.7, "must_pass": ["a"]})
    result.assert_outcomes(passed=3 + 3, xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines_random(
        ["*gate::min_pass_rate*PASSED*", "*gate::must_pass?a?*PASSED*", "*gate::max_error_rate*PASSED*"]
    )


@WORKERS
def test_a_missed_gate_is_red(evals: Evals, workers: list[str]) -> None:
    """A rule that is not met fails its own item with its figures, and the exit code is 1."""
    result = evals.play(MIXED, "--eval-min-pass-rate=0.9", "--junit-xml=junit.xml", *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*pass rate 75.0% (3/4) is under 90.0%*"])
    root = ET.parse(evals.path / "junit.xml").getroot()  # noqa: S314 our own file
    cases = {c.get("name"): [child.tag for child in c] for c in root.iter("testcase")}
    assert "failure" in cases["min_pass_rate"]
    assert "skipped" in cases["d"]


def test_must_pass_and_error_rate_are_rules(evals: Evals) -> None:
    """A pinned row that fails, and too many errors, each break the gate; errors are not in the pass rate."""
    gate = {"min_pass_rate": 0.5, "must_pass": ["b"], "max_error_rate": 0.1}
    result = evals.play([row("a"), row("b", says="wrong"), errored_row("c")], "-v", gate=gate)
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        [
            "*gate::min_pass_rate PASSED*",
            "*gate::must_pass?b? FAILED*",
            "*gate::max_error_rate FAILED*",
            "*error rate 33.3% (1/3) is over 10.0%*",
        ]
    )
    result.assert_outcomes(passed=2, failed=2, xfailed=2)


def test_all_errored_is_never_green(evals: Evals) -> None:
    """When no trial could be judged there is no pass rate, and the gate is not met even at 0."""
    result = evals.play([errored_row("a")], gate={"min_pass_rate": 0.0, "max_error_rate": 1.0})
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no trial was judged*"])


def test_a_row_that_a_rule_is_about_is_left_to_it(evals: Evals) -> None:
    """Beside it, others stay red."""
    rows = row("a", tags=["smoke"]), row("b", tags=["smoke"], says="wrong"), row("c", says="wrong")
    result = evals.play(rows, gate={"tags": {"smoke": 0.5}})
    result.assert_outcomes(passed=3, xfailed=1, failed=1)
    assert result.ret == 1


def test_rows_that_stay_red_fail_the_gate_that_is_asked_again(evals: Evals) -> None:
    """As they have failed the session."""
    result = evals.play(MIXED, gate={"min_pass_rate": 0.5, "rows": "fail"})
    result.assert_outcomes(passed=3 + 2, failed=1)
    again = evals.run_command("gate", "latest")
    assert again.ret == 1
    again.stdout.fnmatch_lines(["NOT MET rows: 1 of 4 trials did not pass, and `rows: fail` allows none"])


@pytest.mark.parametrize(
    "gate", [{}, {"max_cost_usd": 5}, {"must_pass": ["a"]}, {"min_pass_rate": 0.1, "rows": "fail"}]
)
@pytest.mark.parametrize("option", ["--eval-resume", "--eval-regrade=latest"])
def test_a_session_of_some_rows_is_as_red_as_its_run(evals: Evals, gate: dict[str, Any], option: str) -> None:
    """A row that failed in an earlier session stays red under a gate that does not decide about it."""
    assert evals.play(MIXED, gate=gate).ret == 1
    result = evals.run("shop.eval.yaml::a", option)
    assert result.ret == 1
    told = " ".join(result.stdout.str().split())
    assert "1 trial failed that no item of this session reports" in told


@WORKERS
def test_last_failed_after_a_gated_run_runs_the_bad_rows(evals: Evals, workers: list[str]) -> None:
    """``--lf`` remembers xfailed rows and forgets the gate's own items."""
    evals.play(MIXED, "--eval-min-pass-rate=0.9", *workers)
    result = evals.run("shop.eval.yaml", "--lf", "-v")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*::d FAILED*"])


def test_stop_at_first_does_not_stop_at_gated_rows(evals: Evals) -> None:
    """``-x`` under a gate goes on: a bad row is expected there."""
    result = evals.play([row("d", says="wrong"), row("a"), row("b")], "-x", gate={"min_pass_rate": 0.5})
    result.assert_outcomes(passed=4, xfailed=1)


def test_an_interrupted_run_decides_nothing(evals: Evals) -> None:
    """After ``-x`` under ``gate.rows: fail`` no gate item is reported, but the summary is written."""
    gate = {"min_pass_rate": 0.1, "rows": "fail"}
    result = evals.play([row("d", says="wrong"), row("a"), row("b")], "-x", "-v", gate=gate)
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*gate::*")
    assert evals.summary()["selected"] == 3
    assert evals.summary()["failed"] == 1


PARTICULAR = """
import pytest

@pytest.fixture(autouse=True)
def particular(request):
    if request.node.name == "b":
        pytest.skip("not wanted")
    if request.node.name == "c":
        raise RuntimeError("no such luck")
"""


@pytest.mark.parametrize("rows", ["ab", "abc"])
def test_rows_without_a_result_say_the_same_later(evals: Evals, rows: str) -> None:
    """A row that is skipped is not asked for; one whose fixture breaks is lacking, in the run and offline."""
    evals.write([row(name) for name in rows], gate={"min_pass_rate": 1})
    (evals.path / "conftest.py").write_text(PARTICULAR)
    result = evals.run("shop.eval.yaml", "-v")
    again = evals.run_command("gate", str(evals.run_folder()))
    assert (evals.summary()["selected"], evals.summary()["skipped"]) == (len(rows), 1)
    assert result.ret == again.ret == len(rows) - 2
    if "c" in rows:
        result.stdout.fnmatch_lines(["*gate::complete FAILED*"])
        again.stdout.fnmatch_lines(["NOT MET complete: 1 of the run's 3 trials have no result*"])


@pytest.mark.parametrize("gate", [{"max_regressions": 0, "max_error_rate": 1}, None])
def test_a_baseline_of_the_command_line(evals: Evals, gate: dict[str, float] | None) -> None:
    """Its comparison is printed; rules that need a baseline take it, and the folder knows it later."""
    assert evals.play(MIXED, gate={"min_pass_rate": 0.5}).ret == 0
    first = evals.run_folder()
    keys: dict[str, Any] = {} if gate is None else {"gate": gate}
    evals.write([row("a"), row("b"), row("c", says="wrong"), row("d", says="wrong")], **keys)
    result = evals.run("shop.eval.yaml", "--eval-baseline=latest")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*eval shop compared with its baseline*", f"A  *{first.name} (baseline)"])
    result.stdout.fnmatch_lines(
        ["*gate max_regressions: * regressed against *"] if gate else ["*paired over*"]
    )
    second = next(folder for folder in first.parent.iterdir() if folder != first)
    config = json.loads((second / "manifest.json").read_text())["config"]
    expected = first.relative_to(evals.path).as_posix() if gate else None
    assert config.get("gate", {}).get("baseline") == expected


def test_baselines_that_do_not_fit(evals: Evals) -> None:
    """None where there is no run yet; one of other tasks cannot be compared, and that is not green."""
    result = evals.play([row("a")], "--eval-baseline=latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*there is no run 'latest'*"])
    evals.write_config(gate={"max_drop": 0.1})
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*shop.eval.yaml:*: gate.max_drop: max_drop needs a baseline.*--eval-baseline=RUN*"]
    )
    evals.write_config()
    assert evals.run("shop.eval.yaml").ret == 0
    evals.write_rows(row("z"))
    result = evals.run("shop.eval.yaml", "--eval-baseline=latest")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["not compared: *have no task in common*"])


@WORKERS
@pytest.mark.parametrize(
    "gate",
    [
        {},
        {"rows": "xfail"},
        {"max_cost_usd": 5},
        {"must_pass": ["a"]},
        {"tags": {"smoke": 1}},
        {"websites": {"shop": 1}},
    ],
    ids=str,
)
def test_rows_stay_red_without_a_rule_about_them(
    evals: Evals, gate: dict[str, Any], workers: list[str]
) -> None:
    """A gate that does not say how many of these rows may fail excuses none of them, now or later."""
    tagged = row("a", tags=["smoke"], metadata={"website": "shop"})
    rows = [tagged, row("b"), row("c", says="wrong"), errored_row("d")]
    result = evals.play(rows, *workers, gate={"max_error_rate": 0.5, **gate})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = result.parseoutcomes()
    assert (found["failed"], found["errors"], found.get("xfailed", 0)) == (1, 1, 0)
    again = evals.run_command("gate", str(result.folder), "--config", "shop.eval.yaml")
    assert again.ret == 1
    again.stdout.fnmatch_lines(["NOT MET rows: 2 of 4 trials did not pass, and no rule says *"])


@pytest.mark.parametrize(
    "gate", [{"min_pass_rate": 0.5}, {"variants": {"default": 0.5}}, {"min_task_rate": 0.5}]
)
def test_any_rule_on_verdicts_decides_about_rows(evals: Evals, gate: dict[str, Any]) -> None:
    """A floor of tasks, or of the variant, takes rows over from pytest as ``min_pass_rate`` does."""
    result = evals.play([row("a"), row("b"), row("c", says="wrong")], gate=gate)
    assert result.ret == 0
    assert result.parseoutcomes()["xfailed"] == 1


TELLS = """
from typing import Literal
from pytest_browsereval import GateRule, RuleResult

class Tells(GateRule):
    type: Literal["tells"] = "tells"
    token: str = ""
    breaks: bool = False

    def check(self, trials):
        if self.breaks:
            raise RuntimeError(f"{self.token} was refused")
        return RuleResult("tells", False, f"{self.token} was refused")

def pytest_browsereval_register(registry):
    registry.register(Tells)
"""


def test_a_rule_tells_no_secret(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in reports nor by the command, whether it returns or raises a message with its token."""
    monkeypatch.setenv("GATE_TOKEN", "tok-98765-abc")
    evals.pytester.makeconftest(TELLS)
    block = {"type": "tells", "token": "${GATE_TOKEN}"}
    run = evals.play([row("a")], "--junit-xml=junit.xml", gate={"rules": [block, {**block, "breaks": True}]})
    gate = evals.run_command("gate", str(run.folder), "--config", "shop.eval.yaml")
    assert (run.ret, gate.ret) == (1, 1)
    for result in (run, gate):
        text = result.stdout.str() + result.stderr.str()
        assert text.count("[redacted] was refused") >= 2
        assert "tok-98765" not in text
    assert "tok-98765" not in (evals.path / "junit.xml").read_text()


@pytest.mark.slow
def test_bad_rows_are_red_in_test_views(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a gate too, in VS Code and PyCharm, and in workers; ``rows`` of the config counts everywhere."""
    for name in ("vscode_pytest", "_jb_runner_tools"):
        (evals.path / f"{name}.py").touch()
    (evals.path / "teamcity_plugin.py").write_text("import _jb_runner_tools\n")
    monkeypatch.setenv("PYTHONPATH", str(evals.path))
    evals.write_rows(row("good"), row("bad", says="wrong"))
    code, teamcity = ["-p", "vscode_pytest"], ["-p", "teamcity_plugin"]
    for rows, args, outcome in (
        ({}, [], "xfailed"),
        ({}, code, "failed"),
        ({}, [*code, "-n1"], "failed"),
        ({}, [*teamcity, "-n1"], "failed"),
        ({"rows": "xfail"}, code, "xfailed"),
    ):
        evals.write_config(gate={"min_pass_rate": 0.5, **rows})
        outcomes = evals.run_process("shop.eval.yaml", *args).parseoutcomes()
        assert outcomes.pop("passed") == 3
        assert outcomes == {outcome: 1}, (args, rows)
