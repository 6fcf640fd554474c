"""The options of ``--eval-regrade``."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-regrade",
        metavar="RUN",
        help="grade the stored attempts of this run again, and run no agent: its folder, its id, or 'latest'",
        wakes=True,
    ),
    Option(
        "--eval-regrade-rows",
        choices=("stored", "current"),
        default="stored",
        help="let --eval-regrade use the answers, checks and rubrics that are stored in the run, or the "
        "current ones of the dataset (default: stored)",
    ),
)
