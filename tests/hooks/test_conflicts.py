"""Options that contradict each other end a session before anything is spent."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.regrade.conflicts import CONFLICTS as OF_REGRADE
from pytest_browsereval.features.resume.conflicts import CONFLICTS as OF_RESUME
from pytest_browsereval.hooks.conflicts import Conflict
from tests.hooks.small_evals import Evals, row

VALUES = {
    "agent": "noop",
    "trials": "2",
    "regrade": "latest",
    "resume": "latest",
    "llm": "replay",
    "regrade_rows": "current",
}
"""Values of options that take one."""


def write(name: str) -> str:
    option = f"--eval-{name.replace('_', '-')}"
    return f"{option}={VALUES[name]}" if name in VALUES else option


ALL = [*OF_REGRADE, *OF_RESUME]


@pytest.mark.parametrize("conflict", ALL, ids=lambda one: f"{one.option}-{one.other}")
def test_a_conflict_ends_the_session(pytester: pytest.Pytester, conflict: Conflict) -> None:
    """With exit code 4 and what to type instead; each option by itself says nothing of the other."""
    evals = Evals(pytester.path)
    evals.write([row("one")], browser="playwright")
    given = [conflict.option] + [conflict.other] * (not conflict.is_needed)
    result = evals.run("shop.eval.yaml", *map(write, given))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = conflict.message.format(other=VALUES.get(conflict.other))
    result.stderr.fnmatch_lines([f"ERROR: *{message}"])
    assert not (pytester.path / "results").exists()


def test_one_session_has_one_earlier_run(pytester: pytest.Pytester) -> None:
    """Two options that name one are refused, whoever brings them."""
    evals = Evals(pytester.path)
    result = evals.play([row("one")], "--eval-regrade=latest", "--eval-resume=latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--eval-regrade and --eval-resume name an earlier run each. Leave one out."]
    )


@pytest.mark.parametrize(
    "option",
    [
        "--eval-min-pass-rate=0.8",
        "--eval-set=gate.min_pass_rate=0.8",
        "--eval-agent=noop",
        "--eval-lanes=2",
        "--eval-output=out",
        "--eval-llm=replay",
        "--eval-shard=1/2",
        "--eval-baseline=b.json",
    ],
)
def test_options_of_evals_are_refused_where_there_is_none(pytester: pytest.Pytester, option: str) -> None:
    """A config whose name pytest does not look for would let a job be green for ever."""
    evals = Evals(pytester.path)
    evals.write_rows(row("one", says="wrong"))
    evals.write_config("shop-eval.yaml")
    pytester.makepyfile("def test_of_something_else(): pass")
    result = evals.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name = option.partition("=")[0]
    result.stderr.fnmatch_lines([f"ERROR: {name} is about evals, and none was collected: *.eval.yaml, *"])
