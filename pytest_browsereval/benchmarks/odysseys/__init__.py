"""Odysseys: long tasks over several sites, graded by rubrics."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"dataset": {"odysseys": "dataset:OdysseysConfig"}})
