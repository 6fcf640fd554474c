"""Reads runs of other systems as run folders, and writes run folders in their formats."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"export": {"online-mind2web": "online_mind2web:OnlineMind2WebExport"}},
    commands=("import_command", "command"),
    hooks="plugin",
)
