"""Pictures of attempts in which nothing is done."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "names"), [("after", ["000.jpeg", "001.jpeg"]), ("off", [])])
def test_a_task_that_only_reads_has_pictures(evals: Evals, mode: str, names: list[str]) -> None:
    """Of the start and of the end, where pictures are on; only the latter is counted."""
    evals.write_rows(row("read", start_url="data:text/html,<h1>Hi"))
    evals.write_config(browser="playwright", capture={"screenshots": mode})
    run = evals.run()
    (attempt,) = run.attempts
    run.assert_outcomes(passed=1)
    assert sorted(file.name for file in run.folder.glob("tasks/**/screenshots/*")) == names
    assert attempt.screenshot_count == len(names[1:])
