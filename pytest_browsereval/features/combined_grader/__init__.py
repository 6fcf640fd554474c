"""Several graders as one."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"grader": {"combined": "grader:CombinedGrader"}})
