"""Warnings of requests that a site of the run answered with a server error while the agent worked."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
