"""The eval driver: what a plug-in author writes, and what comes back."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import warnings
from pathlib import Path

import pytest

from pytest_browsereval.testing import EvalDriver
from tests.hooks.small_evals import Driver, Evals, errored_row, row
from tests.support import LEFT_OUT

ROOT = Path(__file__).parents[2]


@pytest.fixture
def driver(tmp_path: Path) -> EvalDriver:
    """Return a driver as the fixture of the package makes it."""
    folder = tmp_path / "evals"
    folder.mkdir()
    return Driver(folder, options=LEFT_OUT)


def described(driver: EvalDriver) -> None:
    driver.write_rows(row("good"), row("bad", says="wrong"), errored_row("broken"))
    driver.write_config(agent="scripted", browser="blank", retries=0)


@pytest.mark.parametrize("way", ["run", "run_process"])
def test_a_run_tells_outcomes_folder_and_output(driver: EvalDriver, way: str) -> None:
    """The same in this process and in one of its own."""
    described(driver)
    run = getattr(driver, way)("shop.eval.yaml")
    run.assert_outcomes(passed=1, failed=1, errors=1)
    assert run.ret is pytest.ExitCode.TESTS_FAILED
    assert run.folder.parent == driver.path / "results/shop"
    assert run.summary["passed"] == 1
    assert run.attempt("bad").final_answer == "wrong"
    assert sorted(attempt.verdict for attempt in run.attempts) == ["errored", "failed", "passed"]
    run.stdout.fnmatch_lines(["pass rate 50.0% (1 of 2 judged)*"])


def test_what_is_not_one_is_said(driver: EvalDriver) -> None:
    """No run folder, two of them, and a row without an attempt are errors that list what there is."""
    described(driver)
    driver.write_config("more.eval.yaml", agent="scripted", browser="blank", retries=0)
    with pytest.raises(AssertionError, match="wrote 0 run folders"):
        _ = driver.run("--co").folder
    both = driver.run()
    assert [folder.parent.name for folder in both.folders] == ["more", "shop"]
    with pytest.raises(AssertionError, match="wrote 2 run folders"):
        _ = both.folder
    with pytest.raises(AssertionError, match="'sky' has 0 attempts, not one; attempts: "):
        driver.run("shop.eval.yaml").attempt("sky")


def test_a_resumed_run_is_the_run_of_both(driver: EvalDriver) -> None:
    """Its folder was there before, and what was written to it since is seen."""
    described(driver)
    first = driver.run("shop.eval.yaml")
    again = driver.run("shop.eval.yaml", "--eval-resume")
    assert first.folder == again.folder
    assert [attempt.attempt for attempt in again.attempts if attempt.query_id == "broken"] == [1, 2]


def test_commands_run_in_process(driver: EvalDriver) -> None:
    """With their exit code and output, also where the command line is wrong."""
    described(driver)
    folder = str(driver.run("shop.eval.yaml").folder)
    shown = driver.run_command("runs", folder)
    assert shown.ret == 0
    shown.stdout.fnmatch_lines(["*scripted*"])
    assert driver.run_command("runs", "nothing-here").ret == 4
    wrong = driver.run_command("no-such-command")
    assert wrong.ret == 2
    wrong.stderr.fnmatch_lines(["*there is no subcommand 'no-such-command'. Subcommands: *"])


CONFTEST = "import driven_helper, os, sys\nsys.path.append('/added')\nos.environ['DRIVEN'] = 'yes'\n"


def test_the_process_is_as_it_was(driver: EvalDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folder, paths, filters of warnings and modules of the folder; what a conftest exports stays."""
    monkeypatch.setenv("DRIVEN", "no")
    described(driver)
    (driver.path / "conftest.py").write_text(CONFTEST)
    (driver.path / "driven_helper.py").touch()
    before = Path.cwd(), sys.path[:], warnings.filters[:], os.environ["PYTEST_CURRENT_TEST"]
    driver.run("shop.eval.yaml")
    assert (Path.cwd(), sys.path, warnings.filters, os.environ["PYTEST_CURRENT_TEST"]) == before
    assert "driven_helper" not in sys.modules
    assert os.environ["DRIVEN"] == "yes"


@pytest.mark.slow
def test_the_example_of_the_guide_holds(tmp_path: Path) -> None:
    """Conftest, plug-in and test as they stand there, each in its file."""
    text = (ROOT / "docs/how-to/test-a-plug-in.md").read_text(encoding="utf-8")
    block = text.partition("```python\n# conftest.py\n")[2].partition("```")[0]
    files = re.split(r"^# (\w+)\.py.*\n", "# conftest.py\n" + block, flags=re.MULTILINE)
    assert files[1::2] == ["conftest", "acme_colour", "test_colour"]
    for name, code in zip(files[1::2], files[2::2], strict=True):
        (tmp_path / f"{name}.py").write_text(code)
    evals = Evals(tmp_path)
    evals.options = LEFT_OUT
    evals.run_process().assert_outcomes(passed=1)


@pytest.mark.parametrize("options", [["-qq"], ["-p", "no:terminal"], ["--no-such-option"]])
def test_a_run_that_tells_no_outcomes_is_not_one_without_failures(
    driver: EvalDriver, options: list[str]
) -> None:
    """Nothing was counted, so neither no failure nor a pass is true of it."""
    described(driver)
    run = driver.run("shop.eval.yaml", *options)
    assert run.ret != 0
    for outcomes in ({}, {"failed": 0}):
        with pytest.raises(AssertionError, match=r"exit code is \d, and nothing says how many items passed"):
            run.assert_outcomes(**outcomes)


def test_a_pytest_that_broke_has_no_outcomes(driver: EvalDriver) -> None:
    """Its last line counts what came before that."""
    described(driver)
    (driver.path / "conftest.py").write_text("def pytest_runtestloop():\n    raise OSError('broken')\n")
    run = driver.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    with pytest.raises(AssertionError, match="exit code is 3, and nothing says"):
        run.assert_outcomes()


def test_an_outcome_that_there_is_not_is_refused(driver: EvalDriver) -> None:
    """A misspelt one would be 0 for ever."""
    run = driver.run("--collect-only")
    with pytest.raises(TypeError, match=r"no outcome is named 'error'. Allowed: passed, failed, errors, "):
        run.assert_outcomes(error=0)


def test_an_eval_runs_where_a_loop_runs(driver: EvalDriver) -> None:
    """As in an ``async`` test or in a cell of a notebook, which calls ``pytest.main``; more than once too."""
    described(driver)

    async def test() -> None:
        for _ in range(2):
            driver.run("shop.eval.yaml").assert_outcomes(passed=1, failed=1, errors=1)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("code", "ret", "told"),
    [
        ("import sys\nsys.exit(7)", 7, ""),
        ("import sys\nsys.exit('no way')", 1, "no way"),
        ("def pytest_unconfigure():\n    raise OSError('broken')", 3, "OSError: broken"),
    ],
)
def test_what_raises_out_of_pytest_ends_the_run(driver: EvalDriver, code: str, ret: int, told: str) -> None:
    """By the exit code that a process would have; what was printed is there."""
    described(driver)
    (driver.path / "conftest.py").write_text(code + "\n")
    run = driver.run("shop.eval.yaml")
    assert run.ret == ret
    assert told in run.stderr.str()
