"""A first eval for a new user: files that run at once, to be changed."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
