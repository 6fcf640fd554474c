"""JUnit XML: verdicts, figures and pictures of attempts."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
