"""Writes runs as logs of Inspect."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"export": {"inspect": "export:InspectExport"}})
