"""Model calls and web traffic of trials, recorded in cassettes and replayed from there."""

from __future__ import annotations

from pytest_browsereval.feature import Feature, Option

FEATURE = Feature(
    options=(
        Option(
            "--eval-llm",
            choices=("live", "record", "replay", "auto"),
            default="live",
            help="live: send model calls; record: send them and record them in cassettes; replay: answer "
            "them from cassettes, without network or key; auto: replay what is recorded, record the rest "
            "(default: live)",
        ),
    ),
    hooks="plugin",
)
