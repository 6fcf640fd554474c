"""Notes of what a run does not read."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row


def test_variables_that_nothing_reads_are_named(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is read instead, and without their values; one that the config names is read."""
    for name in ("LIMIT", "HEADLESS", "LANES", "MY_PAGE"):
        monkeypatch.setenv(f"BROWSEREVAL_{name}", "rosebud")
    evals.write([row("a")], variables=["BROWSEREVAL_MY_PAGE"])
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.OK
    notes = [
        line.partition("note: ")[2] for line in result.stdout.str().splitlines() if "is not read" in line
    ]
    names = [note.split()[2] for note in notes]
    assert names == [f"BROWSEREVAL_{name}" for name in ("HEADLESS", "LANES", "LIMIT")]
    assert all("Write `--eval-set KEY=VALUE`" in note and "rosebud" not in note for note in notes)


PLAYWRIGHT = """
def pytest_addoption(parser):
    parser.addoption("--headed", action="store_true")
    parser.addoption("--device")
"""


def test_options_of_pytest_playwright_are_named(evals: Evals) -> None:
    """They may be for tests by hand in the same session, so they are no error."""
    evals.pytester.makeconftest(PLAYWRIGHT)
    evals.write([row("a")])
    assert "has no effect" not in evals.run("shop.eval.yaml").stdout.str()
    result = evals.run("shop.eval.yaml", "--headed", "--device=Pixel 5")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "*note: --headed has no effect on rows of evals; for these there is --eval-headed",
            "*note: --device has no effect on rows of evals; for these there is --eval-set *device=*",
        ]
    )
