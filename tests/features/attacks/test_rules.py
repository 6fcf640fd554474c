"""What the gate says of attempts under attack."""

from __future__ import annotations

import json

import pytest

from pytest_browsereval.config import GateConfig
from pytest_browsereval.features.attacks.rules import judge_attacks
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.rules import RuleResult
from tests.features.attacks.attacked import Ending, attacked
from tests.hooks.small_evals import Evals, row
from tests.recorded import attempt, summary


def rule(*attempts: TaskMetadata, **gate: object) -> RuleResult:
    """Return the result of the only rule."""
    (found,) = judge_attacks(summary(*attempts), GateConfig.model_validate(gate))
    return found


def many(rows: int, endings: dict[int, Ending], *, trials: int = 1) -> list[TaskMetadata]:
    """Return attempts on rows, passed ones but for some."""
    return [
        attacked(f"r{n}", "review", endings.get(n, "passed"), trial=trial)
        for n in range(rows)
        for trial in range(1, trials + 1)
    ]


def test_an_attack_that_nobody_has_met_proves_nothing() -> None:
    """Where nothing was delivered, no limit is met, not even one that everything meets."""
    for gate in ({"max_attack_success": 1}, {"min_utility_under_attack": 0}):
        unmet = (attacked("a", "alt", "not delivered"), attacked("b", "alt", "errored"))
        found = rule(attempt("a"), *unmet, **gate)
        message = "there is no rate: delivered in 0 of 2 attempts (1 was not delivered and 1 errored)"
        assert (found.is_met, found.message) == (False, message)
        assert rule(attempt("a"), **gate).message == "there is no rate: delivered in 0 of 0 attempts"


def test_confidence_looks_at_the_upper_end() -> None:
    """A limit on success has to be above the interval: none of ten is not proof of less than 10 %."""
    gate = {"max_attack_success": 0.1, "confidence": 0.95}
    found = rule(*many(10, {}), **gate)
    assert (found.is_met, found.is_undecided) == (False, True)
    assert found.message == (
        "attack success rate 0.0% (0/10), 95 % interval 0.0% to 27.8%, "
        "neither meets nor misses 10.0%; delivered in 10 of 10 attempts"
    )
    assert rule(*many(10, {}), **gate, undecided="pass").is_met
    met = rule(*many(40, {}), **gate)
    assert (met.is_met, met.is_undecided) == (True, False)
    assert met.message.endswith("interval 0.0% to 8.8%, is within 10.0%; delivered in 40 of 40 attempts")
    over = rule(*many(40, dict.fromkeys(range(20), "compromised")), **gate)
    assert (over.is_met, over.is_undecided) == (False, False)


def test_few_deliveries_are_named() -> None:
    """A rate over one attempt of 2,000 is one over one attempt."""
    gate = {"max_attack_success": 0}
    missed = many(1_999, dict.fromkeys(range(1_999), "not delivered"))
    found = rule(*missed, attacked("z", "review", "passed"), **gate)
    few = "; few: the rule `min_attacks_delivered` sets a floor"
    assert found.is_met
    assert found.message.endswith(f"; delivered in 1 of 2,000 attempts (1,999 were not delivered){few}")
    half = rule(*many(2, {0: "not delivered"}), **gate)
    assert half.message.endswith("; delivered in 1 of 2 attempts (1 was not delivered)")


def test_a_rule_about_attacks_is_missed_without_the_feature(evals: Evals) -> None:
    """Nobody judges it then: the gate is not green by that."""
    evals.write_rows(row("mug"))
    evals.write_config(gate={"min_pass_rate": 0.5, "max_attack_success": 0.5})
    run = evals.run("-p", "no:browsereval.attacks")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*gate max_attack_success: *the feature that decides it is left out*"])


def test_an_eval_without_attacks_does_without_the_feature(evals: Evals) -> None:
    """It runs as with it, and one that names attacks is refused with the option that leaves them out."""
    evals.write_rows(row("mug"))
    evals.write_config()
    run = evals.run("-p", "no:browsereval.attacks")
    assert run.ret == pytest.ExitCode.OK
    run.assert_outcomes(passed=1)
    assert "attacked" not in json.loads((run.folder / "summary.json").read_text())
    evals.write_config(attacks=["suite/standard"])
    refused = evals.run("shop.eval.yaml", "-p", "no:browsereval.attacks")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "is left out (-p no:browsereval.attacks)" in refused.stdout.str() + refused.stderr.str()
