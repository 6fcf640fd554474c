"""What ends the parts of a run on a cluster."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("supervise_command",))
