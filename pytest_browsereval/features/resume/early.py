"""The options of ``--eval-resume``."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-resume",
        nargs="?",
        const="latest",
        metavar="RUN",
        help="resume this run: its folder or its id (default: the newest run of the config). "
        "Trials that passed or failed are reported from the folder, all others are run",
        wakes=True,
    ),
    Option(
        "--eval-resume-anyway",
        action="store_true",
        default=False,
        help="let --eval-resume resume the run although its config or rows have changed",
    ),
)
