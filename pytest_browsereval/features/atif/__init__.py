"""Writes attempts in the Agent Trajectory Interchange Format (ATIF)."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"export": {"atif": "export:AtifExport"}})
