"""What a run will take, before it starts."""

from __future__ import annotations

from pytest_browsereval.feature import Feature, Option

FEATURE = Feature(
    options=(
        Option(
            "--eval-plan",
            action="store_true",
            default=False,
            help="run nothing; print the number of trials and an estimate of their tokens, cost and time",
            wakes=True,
        ),
    ),
    early="early",
    hooks="plugin",
)
