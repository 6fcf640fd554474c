"""Answers to wrong ideas: names, options and variables that another tool has and this one has not."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(explains="members:explain", hooks="plugin")
