"""``--eval-regrade``: stored attempts are graded again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.run.active import EarlierRun


def pytest_browsereval_earlier_run(config: pytest.Config) -> EarlierRun | None:
    """Have the session grade the trials of the run that the option names."""
    from pytest_browsereval.features.regrade.conflicts import CONFLICTS
    from pytest_browsereval.hooks.conflicts import check_conflicts

    check_conflicts(config, CONFLICTS)
    run: str | None = config.getoption("eval_regrade")
    if run is None:
        return None
    from pytest_browsereval.features.regrade.trials import RegradedTrials
    from pytest_browsereval.run.active import EarlierRun

    is_current = config.getoption("eval_regrade_rows") == "current"
    return EarlierRun("regrade", run, partial(RegradedTrials, is_current=is_current))
