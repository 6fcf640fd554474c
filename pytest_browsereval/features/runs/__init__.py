"""All runs of a results folder: a history with a line for each, a list and a page."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",), hooks="plugin")
