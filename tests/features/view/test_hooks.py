"""Every run folder has its page, and a run does not depend on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row


def data_of(evals: Evals) -> dict[str, Any]:
    """Return what the page of the newest run shows."""
    text = (evals.run_folder() / "index.html").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    return found


def test_a_run_has_its_page(evals: Evals) -> None:
    """Also under xdist: written once all workers are done, by the controller."""
    evals.write_rows(row("a"), row("b", says="wrong"), row("c"))
    evals.write_config()
    evals.run("shop.eval.yaml", "-n", "2")
    data = data_of(evals)
    assert {name: data["totals"][name] for name in ("passed", "failed", "errored")} == {
        "passed": 2,
        "failed": 1,
        "errored": 0,
    }
    assert data["run"]["selected"] == 3
    (details,) = (evals.run_folder() / "index.files").iterdir()
    assert details.read_text().count('"tasks/') == 0
    assert '"a/default/1/attempt-1":' in details.read_text()


def test_a_page_that_cannot_be_written_breaks_nothing(evals: Evals) -> None:
    """It is told in a line; verdicts and exit code are those of the rows."""
    evals.write_rows(row("a"))
    evals.write_config()
    (evals.path / "conftest.py").write_text(
        "def pytest_browsereval_run_summary(run_folder):\n    (run_folder / 'index.html').mkdir()\n"
    )
    result = evals.run("shop.eval.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*index.html was not written: UsageError: *is a folder*browsereval view *"])


def test_a_summary_hook_that_raises_leaves_the_page(evals: Evals) -> None:
    """The run is over and recorded: its page is written, and its path is printed."""
    evals.write_rows(row("a"))
    evals.write_config()
    evals.pytester.makeconftest(
        "def pytest_browsereval_run_summary():\n    raise RuntimeError('no such luck')\n"
    )
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "pytest_browsereval_run_summary raised RuntimeError: no such luck" in result.stdout.str()
    result.stdout.fnmatch_lines(["page: *index.html"])
    assert (evals.run_folder() / "index.html").is_file()
