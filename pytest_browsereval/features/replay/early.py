"""The option ``--eval-llm``."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-llm",
        choices=("live", "record", "replay", "auto"),
        default="live",
        help="live: send model calls; record: send them and record them in cassettes; replay: answer "
        "them from cassettes, without network or key; auto: replay what is recorded, record the rest "
        "(default: live)",
    ),
)
