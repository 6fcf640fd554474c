"""BrowseComp: short answers to questions that are hard to find, judged by a model."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {"browsecomp": "dataset:BrowseCompConfig"},
        "grader": {"browsecomp": "grader:BrowseCompGrader"},
    }
)
