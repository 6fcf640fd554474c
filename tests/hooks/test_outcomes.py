"""Outcomes of pytest that code of an attempt raises: they decide about tests, never about rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import WORKERS, Evals, errored_row, row

pytestmark = pytest.mark.quick

CALLS = ["xfail", "skip", "fail", "exit"]
AGENT = """
import pytest

def solve(context):
    if context.task.query_id == "calls":
        pytest.CALL("so")
    return "wrong" if context.task.query_id == "fails" else "right"

async def solve_on_loop(context):
    return solve(context)
"""


HOOK = """
import pytest

def pytest_browsereval_HOOK:
    pytest.CALL("so")
"""


def write_hook(evals: Evals, hook: str, call: str) -> None:
    """Write a conftest whose hook calls a function of pytest."""
    evals.pytester.makeconftest(HOOK.replace("HOOK", hook).replace("CALL", call))


def counts(evals: Evals) -> dict[str, Any]:
    """Return what the summary counts."""
    keys = ("selected", "skipped", "trials", "passed", "failed", "errored")
    return {key: evals.summary()[key] for key in keys}


@pytest.mark.parametrize(
    ("call", "function", "workers"),
    [
        *((call, function, []) for call in CALLS for function in ("solve", "solve_on_loop")),
        pytest.param("xfail", "solve", ["-n2"], marks=pytest.mark.slow),
        pytest.param("exit", "solve_on_loop", ["-n2"], marks=pytest.mark.slow),
    ],
)
def test_an_agent_that_calls_one_is_errored(
    evals: Evals, call: str, function: str, workers: list[str]
) -> None:
    """Its row is an error, counted once, which names what was called; the others go on."""
    evals.pytester.makepyfile(own=AGENT.replace("CALL", call))
    evals.write([row("a"), row("calls"), row("b")], agent={"type": "function", "function": f"own:{function}"})
    result = evals.run("shop.eval.yaml", *workers)
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.attempt("calls").error_source == "agent"
    assert f"raised pytest.{call}(): so" in result.attempt("calls").reason
    assert counts(evals) == {
        "selected": 3, "skipped": 0, "trials": 3, "passed": 2, "failed": 0, "errored": 1
    }  # fmt: skip


@pytest.mark.parametrize("hook", ["task_done", "find_cause"])
@pytest.mark.parametrize("gate", [{}, {"gate": {"min_pass_rate": 0.9}}], ids=["no gate", "gate"])
@pytest.mark.parametrize(
    ("call", "workers"),
    [("xfail", []), ("skip", []), ("fail", []), pytest.param("skip", ["-n2"], marks=pytest.mark.slow)],
)
def test_a_hook_cannot_excuse_a_row(
    evals: Evals, call: str, gate: dict[str, Any], workers: list[str], hook: str
) -> None:
    """A failed row whose hook calls one is an error that names the hook; the run has it as failed."""
    write_hook(evals, f"{hook}(metadata, folder)", call)
    result = evals.play([row("a", says="wrong"), row("b")], *workers, **gate)
    found = result.parseoutcomes()
    errors = 2 if hook == "task_done" else 1  # which is asked about each row
    assert (found["errors"], found.get("skipped", 0), found.get("xfailed", 0)) == (errors, 0, 0)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"*pytest_browsereval_{hook} called pytest.{call}(): so*"])
    assert counts(evals) == {
        "selected": 2, "skipped": 0, "trials": 2, "passed": 1, "failed": 1, "errored": 0
    }  # fmt: skip


@pytest.mark.parametrize("call", ["xfail", "skip", "fail", "exit"])
def test_run_summary_cannot_excuse_a_run(evals: Evals, call: str) -> None:
    """The gate is decided all the same, and the broken hook makes the run incomplete."""
    write_hook(evals, "run_summary(summary, run_folder)", call)
    result = evals.play([row("a", says="wrong"), row("b")], gate={"min_pass_rate": 0.9})
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    output = result.stdout.str()
    assert f"pytest_browsereval_run_summary called pytest.{call}(): so" in output
    assert "pass rate 50.0% (1/2) is under 90.0%" in output


@WORKERS
@pytest.mark.parametrize("hook", ["task_done(metadata, folder)", "run_summary(summary, run_folder)"])
def test_a_hook_cannot_make_a_run_green_by_its_exit_code(evals: Evals, hook: str, workers: list[str]) -> None:
    """``pytest.exit(returncode=0)`` of a hook ends no run with 0 that has a failed row."""
    evals.pytester.makeconftest(
        HOOK.replace("HOOK", hook).replace('pytest.CALL("so")', 'pytest.exit("so", returncode=0)')
    )
    assert evals.play([row("a", says="wrong")], *workers, gate={"min_pass_rate": 0.9}).ret != 0


LATE = {
    "setup": "@pytest.hookimpl(trylast=True)\ndef pytest_runtest_setup(item):\n    pytest.CALL('so')",
    "call": "def pytest_runtest_call(item):\n    pytest.CALL('so')",
    "unittest": "import unittest\ndef pytest_runtest_call(item):\n    raise unittest.SkipTest('so')",
    "swallowed": """@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        yield
    except AssertionError:
        pass""",
    "swallowed and skipped": """@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    try:
        yield
    except Exception:
        pytest.skip('so')""",
}


@pytest.mark.parametrize("gate", [{}, {"gate": {"min_pass_rate": 0}}], ids=["no gate", "gate"])
@pytest.mark.parametrize(
    ("place", "call"), [(p, c) for p in LATE for c in ("skip", "xfail") if "CALL" in LATE[p] or c == "skip"]
)
def test_nothing_hides_a_row_that_was_judged(
    evals: Evals, place: str, call: str, gate: dict[str, Any]
) -> None:
    """A hook that skips or excuses an item after its attempt makes it red, and is told what to do instead."""
    evals.pytester.makeconftest(f"import pytest\n\n{LATE[place].replace('CALL', call)}\n")
    evals.write([errored_row("a") if "swallowed and" in place else row("a", says="wrong")], **gate)
    result = evals.run("shop.eval.yaml", "--junit-xml=j.xml")
    found = result.parseoutcomes()
    assert (found.get("skipped", 0), found.get("xfailed", 0)) == (0, 0)
    assert found.get("errors", 0) + found.get("failed", 0) >= 1
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = "hidden that from pytest" if place == "swallowed" else "after the row was judged"
    assert told in " ".join(result.outlines)


def test_a_bad_row_that_ran_ahead_cannot_be_skipped(evals: Evals) -> None:
    """A row that a conftest skips after its attempt ran ahead and failed: the session is not green."""
    evals.pytester.makeconftest(
        """
        import pytest

        def pytest_runtest_setup(item):
            if item.name == "b":
                pytest.skip("not wanted")
        """
    )
    result = evals.play([row("a"), row("b", says="wrong"), row("c")], lanes=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*the run is not green: 1 trial failed that no item*"])


SECOND_TIME = """
import pathlib

def solve(context):
    tries = pathlib.Path("tries.txt")
    before = tries.read_text() if tries.exists() else ""
    tries.write_text(before + "x")
    return "right" if before else "wrong"
"""


@WORKERS
@pytest.mark.parametrize("gate", [{}, {"gate": {"min_pass_rate": 1}}], ids=["no gate", "gate"])
@pytest.mark.parametrize("how", ["option", "plug-in"])
def test_a_row_that_is_named_twice_runs_once(
    evals: Evals, how: str, gate: dict[str, Any], workers: list[str]
) -> None:
    """No second item makes a failed row pass by a second attempt."""
    (evals.path / "my_agent.py").write_text(SECOND_TIME)
    evals.write([row("a")], agent={"type": "function", "function": "my_agent:solve"}, **gate)
    named = (
        ["--keep-duplicates", "shop.eval.yaml", "shop.eval.yaml"] if how == "option" else ["shop.eval.yaml"]
    )
    if how == "plug-in":
        evals.pytester.makeconftest("def pytest_collection_modifyitems(items):\n    items.append(items[0])\n")
    result = evals.run(*named, *workers, "-W", "error")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (evals.path / "tries.txt").read_text() == "x"
    assert counts(evals)["failed"] == 1
