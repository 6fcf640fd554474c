"""``--eval-regrade``: stored attempts are graded again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.run.active import EarlierRun

OF_ATTEMPTS = ("agent", "trials", "headed", "plan", "llm")
"""Options that say how attempts are made."""


def pytest_browsereval_earlier_run(config: pytest.Config) -> EarlierRun | None:
    """Have the session grade the trials of the run that the option names."""
    from pytest_browsereval.errors import UsageError

    run: str | None = config.getoption("eval_regrade")
    is_current = config.getoption("eval_regrade_rows") == "current"
    if run is None:
        if is_current:
            raise UsageError(
                "--eval-regrade-rows has no effect without --eval-regrade. Add --eval-regrade=RUN."
            )
        return None
    for name in OF_ATTEMPTS:
        # None for an option of a feature that is left out.
        if config.getoption(f"eval_{name}", None) not in (None, False, "live"):
            raise UsageError(
                f"--eval-regrade runs no agent, so --eval-{name} has no effect. Leave it out, or make "
                "a new run without --eval-regrade."
            )
    from pytest_browsereval.features.regrade.trials import RegradedTrials
    from pytest_browsereval.run.active import EarlierRun

    return EarlierRun("regrade", run, partial(RegradedTrials, is_current=is_current))
