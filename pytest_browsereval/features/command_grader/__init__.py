"""A program of the user as a grader."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"grader": {"command": "grader:CommandGrader"}})
