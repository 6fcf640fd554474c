"""``--eval-resume``: an interrupted run is resumed in its folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_eval

if TYPE_CHECKING:
    from pytest_browsereval.run.active import EarlierRun


def pytest_browsereval_earlier_run(config: pytest.Config, brought: Path | None) -> EarlierRun | None:
    """Have the session resume the run that the option names, or one that another machine has begun."""
    from pytest_browsereval.errors import UsageError

    run: str | None = config.getoption("eval_resume") if brought is None else str(brought)
    anyway, shard = config.getoption("eval_resume_anyway"), config.getoption("eval_shard", None)
    if run is None:
        if anyway and config.getoption("eval_run_name", None) is None:  # a run of that name may be taken over
            raise UsageError("--eval-resume-anyway has no effect without --eval-resume. Add it.")
        return None
    if brought is None and (is_eval(run) or run.endswith(".py")):
        raise UsageError(
            f"--eval-resume takes what follows it, {run}, as the run. Write --eval-resume=latest, or put it "
            "after the files."
        )
    from pytest_browsereval.features.resume.trials import ResumedTrials
    from pytest_browsereval.run.active import EarlierRun

    make = partial(ResumedTrials, anyway=anyway, shard=shard)
    return EarlierRun("resume", run, make, is_empty_allowed=True)
