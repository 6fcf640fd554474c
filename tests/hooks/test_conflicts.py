"""Options that contradict each other end a session before anything is spent."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

WITHOUT_AGENT = "ERROR: *--eval-regrade runs no agent, so --eval-{} has no effect. Leave it out, or *"
CONFLICTS = {
    **{
        f"--eval-regrade=latest --eval-{given}": WITHOUT_AGENT.format(given.partition("=")[0])
        for given in ("agent=noop", "trials=2", "headed", "plan", "llm=replay")
    },
    "--eval-regrade=latest --eval-resume=latest": "*--eval-regrade and --eval-resume name an earlier run*",
    "--eval-regrade-rows=current": "ERROR: *has no effect without --eval-regrade. Add --eval-regrade=RUN.",
    "--eval-resume-anyway": "ERROR: *has no effect without --eval-resume. Add it.",
}


def test_a_conflict_ends_the_session(evals: Evals, subtests: pytest.Subtests) -> None:
    """With exit code 4 and what to type instead, and nothing was written."""
    evals.write([row("one")], browser="playwright")
    for given, message in CONFLICTS.items():
        with subtests.test(given):
            result = evals.run("shop.eval.yaml", *given.split())
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            result.stderr.fnmatch_lines([message])
            assert not (evals.path / "results").exists()


@pytest.mark.parametrize(
    "option", ["--eval-min-pass-rate=0.8", "--eval-set=gate.min_pass_rate=0.8", "--eval-llm=replay"]
)
def test_options_of_evals_are_refused_where_there_is_none(evals: Evals, option: str) -> None:
    """A config whose name pytest does not look for would let a job be green for ever."""
    evals.write_rows(row("one", says="wrong"))
    evals.write_config("shop-eval.yaml")
    evals.pytester.makepyfile("def test_of_something_else(): pass")
    result = evals.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name = option.partition("=")[0]
    result.stderr.fnmatch_lines([f"ERROR: {name} is about evals, but none was collected: *.eval.yaml, *"])
