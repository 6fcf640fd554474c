"""The dashboard: the viewer of a running run, served to this machine."""

from __future__ import annotations

from pytest_browsereval.feature import Feature, Option
from pytest_browsereval.features.dashboard.option import port_number

FEATURE = Feature(
    options=(
        Option(
            "--eval-dashboard",
            nargs="?",
            const=0,
            type=port_number,
            metavar="PORT",
            help="serve a live page of the run, on this machine only (needs the extra `dashboard`)",
        ),
    ),
    hooks="plugin",
)
