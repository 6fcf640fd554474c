"""Trials until decided, from the user's files to the exit code."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.testing import ScriptedModel, done
from tests.hooks.small_evals import Evals, errored_row, row

ROUNDS = {"min": 1, "max": 4}


def _write(evals: Evals, right: int, wrong: int = 0, **keys: Any) -> None:
    evals.write_rows(
        *(row(f"r{number:02}") for number in range(right)),
        *(row(f"w{number:02}", says="wrong") for number in range(wrong)),
    )
    evals.write_config(**{"trials": ROUNDS, "gate": {"min_pass_rate": 0.8}, **keys})


class Interrupt:
    """Presses Ctrl-C when an item is up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if nodeid.endswith(self._name):
            raise KeyboardInterrupt


def test_a_run_ends_when_its_gate_is_decided(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty rows that pass meet 80 % after two rounds: the other two are not needed, and all is green."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(evals.path / "summary.md"))
    _write(evals, 20)
    result = evals.run("--eval-config=shop.eval.yaml", "--junit-xml=junit.xml")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "*, up to 4 trials, *",
            "rounds: decided after 2 of 4 trials of each row; 40 trials not needed",
            "gate min_pass_rate: pass rate 100.0% (40/40) meets 80.0%; decided after 2 of 4*",
            "*42 passed, 40 not needed*",
        ]
    )
    summary = evals.summary()
    assert (summary["trials"], summary["selected"], summary["not_needed"]) == (40, 40, 40)
    assert summary["skipped"] == 0
    assert summary["rounds"] == {
        "made": 2,
        "most": 4,
        "is_decided": True,
        "rules": {"min_pass_rate": "above"},
    }
    folder = evals.run_folder()
    assert "decided after 2 of 4 trials of each row" in (folder / "index.html").read_text()
    ends = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
    assert [(one["after"], one["end"]) for one in ends] == [(1, ""), (2, "decided")]
    cases = ET.parse(evals.path / "junit.xml").iter("testcase")  # noqa: S314 our own file
    reasons = [skip.get("message") for case in cases for skip in case.iter("skipped")]
    assert reasons == ["not needed: decided after 2 of 4 trials of each row"] * 40
    assert "rounds: decided after 2 of 4 trials" in (evals.path / "summary.md").read_text()
    shown = evals.run_command("runs", str(folder))
    assert "40 not needed" in " ".join(shown.stdout.str().split())


@pytest.mark.slow
def test_the_gate_is_decided_again_by_the_folder(evals: Evals) -> None:
    """`browsereval gate` says the same of the run, and asks the same rounds about another floor."""
    _write(evals, 20)
    evals.run()
    again = evals.run_command("gate", str(evals.run_folder()))
    assert again.ret == 0
    again.stdout.fnmatch_lines(["*meets 80.0%; decided after 2 of 4*"])
    other = evals.run_command("gate", str(evals.run_folder()), "--eval-set=gate.min_pass_rate=0.97")
    assert other.ret == 1
    other.stdout.fnmatch_lines(["*100.0% (40/40) neither meets nor misses 97.0%*"])


def test_a_run_that_cannot_meet_its_gate_ends_too(evals: Evals) -> None:
    """It is red as decided: exit code 1, with the rest not paid for."""
    _write(evals, 8, 12)
    result = evals.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["gate min_pass_rate: pass rate 40.0% (8/20) is under 80.0%; decided after 1*"]
    )
    assert evals.summary()["not_needed"] == 60


@pytest.mark.parametrize(("undecided", "code"), [("fail", 1), ("pass", 0)])
def test_a_run_that_decides_nothing_says_so(evals: Evals, undecided: str, code: int) -> None:
    """At the floor nothing is decided: the run makes all its trials, and is red unless the gate says else."""
    _write(evals, 4, 1, trials={"min": 2, "max": 3}, gate={"min_pass_rate": 0.8, "undecided": undecided})
    result = evals.run()
    assert result.ret == code
    result.stdout.fnmatch_lines(
        [
            "rounds: undecided after 3 of 3 trials of each row",
            "gate min_pass_rate: pass rate 80.0% (12/15) neither meets nor misses 80.0% *",
        ]
    )
    ends = (evals.run_folder() / "rounds.jsonl").read_text().splitlines()
    assert [json.loads(line)["end"] for line in ends] == ["", "last"]
    summary = evals.summary()
    assert "not_needed" not in summary
    assert summary["trials"] == summary["selected"] == 15


def test_a_gate_with_several_floors_ends_when_all_are_met(evals: Evals) -> None:
    """A floor of one tag alone needs more rounds than that of all rows, and the gate waits for it."""
    evals.write_rows(
        *(row(f"s{number}", tags=["smoke"]) for number in range(6)),
        *(row(f"r{number:02}") for number in range(30)),
    )
    evals.write_config(trials=ROUNDS, gate={"min_pass_rate": 0.8, "tags": {"smoke": 0.6}})
    result = evals.run()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "gate min_pass_rate: *meets 80.0%; decided after 1 of 4*",
            "gate tags[[]smoke]: *meets 60.0%; decided after 2",
        ]
    )


def test_what_errors_counts_for_nothing(evals: Evals) -> None:
    """Errored rows neither hold a decision up nor bring one about."""
    evals.write_rows(*(row(f"r{number:02}") for number in range(20)), errored_row("down"))
    evals.write_config(trials=ROUNDS, gate={"min_pass_rate": 0.8, "max_error_rate": 0.1})
    result = evals.run("shop.eval.yaml", "--eval-keep-going")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["gate min_pass_rate: pass rate 100.0% (40/40) meets 80.0%; decided after 2*"]
    )


@pytest.mark.slow
def test_lanes_do_not_run_into_the_next_round(evals: Evals) -> None:
    """With four attempts at once, none of a further round begins before the one before is decided."""
    _write(evals, 20, lanes=4)
    assert evals.run().ret == pytest.ExitCode.OK
    assert len(list((evals.run_folder() / "tasks").glob("*/*/*"))) == 40


@pytest.mark.slow
def test_an_interrupted_run_is_resumed_where_it_was(evals: Evals) -> None:
    """Ctrl-C in the second round: the run is not green, and a resume makes the rest of that round only."""
    _write(evals, 20)
    cut = evals.run("shop.eval.yaml", plugins=[Interrupt("r05[2]")])
    assert cut.ret == pytest.ExitCode.INTERRUPTED
    assert evals.run_command("gate", str(evals.run_folder())).ret == 1
    resumed = evals.run("shop.eval.yaml", "--eval-resume")
    assert resumed.ret == pytest.ExitCode.OK
    resumed.stdout.fnmatch_lines(
        [
            "*resuming run *: * of 40 trials have a result, * to run",
            "rounds: decided after 2 of 4 trials of each row; 40 trials not needed",
        ]
    )
    assert evals.summary()["trials"] == evals.summary()["selected"] == 40
    assert evals.run_command("gate", str(evals.run_folder())).ret == 0


def test_a_session_that_runs_nothing_ends_no_round(evals: Evals) -> None:
    """A list of the items and a resume that is refused leave what was decided as it is."""
    _write(evals, 20)
    evals.run("shop.eval.yaml")
    file = evals.run_folder() / "rounds.jsonl"
    decided = file.read_bytes()
    assert evals.run("shop.eval.yaml", "--eval-resume", "--collect-only").ret == pytest.ExitCode.OK
    assert file.read_bytes() == decided
    evals.write_rows(*(row(f"r{number:02}", query="Say another.") for number in range(20)))
    assert evals.run("shop.eval.yaml", "--eval-resume").ret == pytest.ExitCode.USAGE_ERROR
    assert file.read_bytes() == decided


@pytest.mark.slow
def test_rows_that_depend_on_others_are_made_in_rounds(evals: Evals) -> None:
    """In each round the one that others wait for comes first."""
    evals.write_rows(*(row(f"r{number:02}", depends_on=["z"]) for number in range(19)), row("z"))
    evals.write_config(trials=ROUNDS, gate={"min_pass_rate": 0.8})
    result = evals.run("shop.eval.yaml", "-v")
    assert result.ret == pytest.ExitCode.OK
    order = [
        line.split("::")[1].split(" ")[0] for line in result.outlines if line.startswith("shop.eval.yaml::")
    ]
    assert order[0] == "z[1]"
    assert order[20] == "z[2]"


@pytest.mark.slow
def test_other_evals_and_tests_of_the_session_go_their_own_way(evals: Evals) -> None:
    """Only trials of rounds are sorted by them, and only these are not needed."""
    _write(evals, 20)
    evals.write_config("other.eval.yaml", trials=2)
    evals.pytester.makepyfile(test_own="def test_own(): pass")
    result = evals.run("shop.eval.yaml", "other.eval.yaml", "test_own.py")
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["passed"] == 40 + 2 + 40 + 1
    assert evals.summary("other")["selected"] == 40
    assert "rounds" not in evals.summary("other")


@pytest.mark.slow
def test_rows_that_are_skipped_take_no_part(evals: Evals) -> None:
    """What a fixture skips is left out of all rounds, the others decide, and nothing is saved by it."""
    evals.write_rows(*(row(f"r{number:02}") for number in range(20)), row("off"))
    evals.write_config(trials=ROUNDS, gate={"min_pass_rate": 0.8})
    evals.pytester.makeconftest(
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef off(request):\n"
        "    if request.node.name.startswith('off'): pytest.skip('off today')\n"
    )
    result = evals.run("shop.eval.yaml", "-rs")
    result.stdout.fnmatch_lines(["rounds: decided after 2 of 4 trials of each row; 40 trials not needed"])
    assert result.parseoutcomes()["passed"] == 42
    assert evals.summary()["not_needed"] == 40


def test_a_resume_with_other_rounds_is_refused(evals: Evals) -> None:
    """Who asks for more rounds until he likes what they say has proved nothing."""
    _write(evals, 2, trials={"max": 2})
    evals.run()
    resumed = evals.run("shop.eval.yaml", "--eval-resume", "--eval-set=trials.max=9")
    assert resumed.ret == pytest.ExitCode.USAGE_ERROR
    resumed.stderr.fnmatch_lines(["*trials: the run * was begun with {*'max': 2*}. Use that again."])


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--eval-set=trials=3",)])
def test_a_regrade_decides_by_the_rounds_that_there_are(evals: Evals, options: tuple[str, ...]) -> None:
    """Grading again makes no trial; the test looks at the rounds that there are, whatever is typed now."""
    _write(evals, 20)
    evals.run()
    regraded = evals.run("shop.eval.yaml", "--eval-regrade=latest", *options)
    assert regraded.ret == pytest.ExitCode.OK
    regraded.stdout.fnmatch_lines(["gate min_pass_rate: *meets 80.0%; decided after 2 of 4*", "*42 passed*"])


@pytest.mark.slow
def test_parts_decide_for_their_rows_and_the_whole_is_decided_anew(evals: Evals) -> None:
    """Each shard ends by itself; the merged run is judged by the rounds that all of them have."""
    _write(evals, 40)
    parts = [evals.run("shop.eval.yaml", f"--eval-shard={number}/2") for number in (1, 2)]
    assert [one.ret for one in parts] == [0, 0]
    folders = [str(one.folder) for one in parts]
    merged = evals.run_command("merge", *folders, "-o", str(evals.path / "whole"))
    assert merged.ret == 0
    again = evals.run_command("gate", str(evals.path / "whole"))
    assert again.ret == 0
    again.stdout.fnmatch_lines(["*pass rate 100.0% (80/80) meets 80.0%; decided after 1 of 4*"])


def test_the_plan_says_from_what_to_what(evals: Evals) -> None:
    """`--eval-plan` prices the least and the most, and runs nothing."""
    _write(evals, 20)
    evals.run()
    plan = evals.run("shop.eval.yaml", "--eval-plan")
    plan.stdout.fnmatch_lines(
        [
            "to run: 20 to 80 trials (20 tasks, 1 to 4 trials each), at most 80 attempts",
            "*0 tokens in, 0 out, $0.00*",
        ]
    )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"gate": {"min_pass_rate": 1.0}}, "*trials: rounds end when the gate is decided, but it has no rule*"),
    ({"trials": {"min": 3, "max": 3}}, "*: trials: max is 3, but min is 3. Write a larger max*"),
    ({"trials": {"most": 3}}, "*trials*"),
    ({"gate": {"min_task_rate": 0.8, "passed_trials": 2}}, "*gate.passed_trials: rows have only 1 trial*"),
]
"""Keys, and what is said of them."""


def test_what_nothing_can_decide_is_refused(evals: Evals, subtests: pytest.Subtests) -> None:
    """Exit code 4, before anything is spent."""
    for keys, said in REFUSED:
        with subtests.test(**keys):
            _write(evals, 1, **keys)
            result = evals.run()
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            result.stderr.fnmatch_lines([said])
            assert not (evals.path / "results").exists()


def _agent(url: str) -> dict[str, Any]:
    prices = {"input_per_mtok": 1_000_000, "output_per_mtok": 0}
    return {"type": "single", "model": "m", "baseUrl": url, "apiKey": "ROUNDS_KEY", "prices": prices}


@pytest.mark.slow
def test_a_budget_that_ends_in_a_round_decides_nothing(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run lacks the rest of the round: red as with any budget, and more money resumes it."""
    monkeypatch.setenv("ROUNDS_KEY", "sk-rounds-0123456789")
    with ScriptedModel(lambda _: done("right").costing(1, 0)) as server:
        keys: dict[str, Any] = {
            "agent": _agent(server.base_url),
            "trials": {"max": 6},
            "gate": {"min_pass_rate": 0.6},
        }
        cut = evals.play((row(name, says=None) for name in "abcdefgh"), **keys, budget={"max_cost_usd": 10})
        assert cut.ret == pytest.ExitCode.TESTS_FAILED
        cut.stdout.fnmatch_lines(
            [
                "rounds: undecided after 1 of 6 trials of each row",
                "gate min_pass_rate: *neither meets nor misses 60.0%*",
                "gate complete: 6 of the run's 16 trials have no result*",
                "not run, since the budget is used up: 38 of 48 trials*",
            ]
        )
        more = evals.run("shop.eval.yaml", "--eval-resume", "--eval-set=budget.max_cost_usd=100")
        assert more.ret == pytest.ExitCode.OK
        assert len(server.requests) == 16
    more.stdout.fnmatch_lines(["rounds: decided after 2 of 6 trials of each row; 32 trials not needed"])


@pytest.mark.slow
def test_workers_wait_for_the_controller_to_decide(evals: Evals) -> None:
    """Two processes make the same rounds as one, and end together."""
    _write(evals, 21)
    result = evals.run("shop.eval.yaml", "-n", "2")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "rounds: decided after 2 of 4 trials of each row; 42 trials not needed",
            "*44 passed, 42 not needed*",
        ]
    )
    assert len(list((evals.run_folder() / "tasks").glob("*/*/*"))) == 42


@pytest.mark.slow
def test_workers_that_wait_are_let_go(evals: Evals) -> None:
    """The first failed row ends the session, and nobody waits for a round that will not end."""
    _write(evals, 3, 18, gate={"min_pass_rate": 0.1, "rows": "fail"}, trials={"max": 8})
    result = evals.run("shop.eval.yaml", "-n", "2", "-x")
    assert result.ret != pytest.ExitCode.OK
