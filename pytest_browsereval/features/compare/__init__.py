"""Two runs task by task, and rules of a gate that rest on it."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"export": {"baseline": "export:BaselineExport"}},
    commands=("command", "gate_command"),
    keys=(("gate", "max_regressions"), ("gate", "max_drop")),
    hooks="plugin",
)
