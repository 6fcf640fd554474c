"""A hook that hangs: its attempt ends, is errored, and names the hook; the row of another lane passes."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

PLUGIN = """
import asyncio

async def hang(*about, **more):
    for _ in range(2 if IS_DEAF else 1):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            ended = error
    raise ended

class Follower:
    fault = None
    ask = staticmethod(hang)

    def finish(self):
        return None

def pytest_browsereval_HOOK(task):
    return RETURNED if task.query_id == "hangs" else None
"""

HOOKS = {
    "pytest_browsereval_tool_call (": "hang()",
    "pytest_browsereval_prepare_window returned (": "hang",
    "pytest_browsereval_follow_attempt returned (": "Follower()",
}


def write_hook(evals: Evals, name: str, *, is_deaf: bool) -> None:
    """Write a hook that hangs for one of two rows."""
    hook = name.partition(" ")[0].removeprefix("pytest_browsereval_")
    plugin = PLUGIN.replace("HOOK", hook).replace("RETURNED", HOOKS[name])
    evals.pytester.makeconftest(f"IS_DEAF = {is_deaf}\n{plugin}")
    evals.write_rows(row("hangs"), row("fine"))


@pytest.mark.slow
def test_a_hook_that_hangs_is_named(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it can be cancelled or not: it was not the agent that was too slow."""
    monkeypatch.setattr("pytest_browsereval.run.behaviour.HOOK_TIMEOUT_S", 0.1)
    monkeypatch.setattr("pytest_browsereval.run.behaviour.ANSWER_TIMEOUT_S", 0.1)
    evals.write_config(lanes=2)
    for name in HOOKS:
        for is_deaf in (False, True):
            write_hook(evals, name, is_deaf=is_deaf)
            run = evals.run("shop.eval.yaml")
            run.assert_outcomes(passed=1, errors=1)
            attempt = run.attempt("hangs")
            assert attempt.error_source == "harness"
            assert name in attempt.reason
            assert "took more than 0.1 seconds" in attempt.reason


def test_a_hook_that_is_asked_when_the_time_is_over_is_named(evals: Evals) -> None:
    """The attempt's own time is shorter than the hook's: errored, and not *failed: out of time*."""
    write_hook(evals, "pytest_browsereval_tool_call (", is_deaf=True)
    evals.write_config(lanes=2, limits={"timeout_ms": 1000})
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(passed=1, errors=1)
    attempt = run.attempt("hangs")
    assert attempt.error_source == "harness"
    assert attempt.reason.startswith("pytest_browsereval_tool_call (")
    assert attempt.reason.endswith("was still being asked about a call to done when the time was over")
