"""Two runs task by task, and rules of a gate that rest on it."""

from __future__ import annotations

from pytest_browsereval.feature import Feature, Option

FEATURE = Feature(
    commands=("command", "gate_command"),
    options=(
        Option(
            "--eval-baseline",
            metavar="RUN",
            help="compare with an earlier run, in the gate too: its folder, its URL, its id, 'latest', "
            "'latest-on-main' or another branch, or a baseline file",
        ),
    ),
    keys=(("gate", "max_regressions"), ("gate", "max_drop")),
    hooks="plugin",
)
