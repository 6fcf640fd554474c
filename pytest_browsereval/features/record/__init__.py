"""Records what a person does in a window as a row of a dataset."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
