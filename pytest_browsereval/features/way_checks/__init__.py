"""Checks of what happened on the way: addresses, requests and tool calls; and of fields of the final page."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    checks={
        "visited": "checks:VISITED",
        "request": "checks:REQUEST",
        "called": "checks:CALLED",
        "field": "form_values:FIELD",
    },
    hooks="plugin",
)
