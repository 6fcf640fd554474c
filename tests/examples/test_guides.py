"""The examples of the guides in `docs/examples/`, as their pages run them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_browsereval.testing import EvalDriver
from tests.support import LEFT_OUT

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@pytest.fixture
def driver(tmp_path: Path) -> EvalDriver:
    """Return a driver in a copy of the examples."""
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    return EvalDriver(folder, options=LEFT_OUT)


def test_the_todo_list_is_solved_by_its_solutions(driver: EvalDriver) -> None:
    """The site of `command`, `{port}` and `reset` works, and its checks can be met."""
    driver.run("todo/todo.eval.yaml").assert_outcomes(passed=3)


def test_variants_are_compared(driver: EvalDriver) -> None:
    """One agent solves all rows, the other one of three; the comparison names what is lost."""
    run = driver.run("todo/two.eval.yaml", "--eval-trials=1", "--eval-lanes=2")
    run.assert_outcomes(passed=4, failed=2)
    folder = str(run.folder)
    compared = driver.run_command("compare", folder, folder, "--variants", "careful=hasty")
    compared.stdout.fnmatch_lines(["paired over 3 tasks judged in both: 0 gained, 2 lost, 1 alike; *"])


def test_rows_are_logged_in(driver: EvalDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook logs in before the agent starts, and the password is in no file of the run."""
    monkeypatch.setenv("TODO_PASSWORD", "rosebud")
    run = driver.run("login/login.eval.yaml")
    run.assert_outcomes(passed=1)
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert any(path.name == "task.json" for path in files)
    assert not [path for path in files if b"rosebud" in path.read_bytes()]


def test_a_login_that_breaks_is_no_failure(driver: EvalDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is errored, as its page says."""
    monkeypatch.setenv("TODO_PASSWORD", "wrong-password")
    run = driver.run("login/login.eval.yaml", "--eval-set", "retries=0")
    run.assert_outcomes(errors=1)
    assert run.attempt("count-private").error_source == "navigation"


def test_a_site_behind_basic_auth_is_opened(driver: EvalDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook adds the password to requests; it is in no file of the run, and a wrong one is an error."""
    monkeypatch.setenv("STAGING_PASSWORD", "rosebud")
    run = driver.run("staging/staging.eval.yaml")
    run.assert_outcomes(passed=1)
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if b"rosebud" in path.read_bytes()]
    monkeypatch.setenv("STAGING_PASSWORD", "wrong-password")
    run = driver.run("staging/staging.eval.yaml", "--eval-set", "retries=0")
    run.assert_outcomes(errors=1)
    assert run.attempt("count-staging").error_source == "navigation"
