"""Runs at a URL: in a bucket of S3, Google Cloud Storage or Azure, or in another folder."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",), hooks="plugin")
