"""Guards: defences that are asked before each tool call and before an answer."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"guard": {"origins": "origins:OriginsGuard", "confirm": "confirm:ConfirmGuard"}},
    keys=(("guards",),),
    hooks="plugin",
)
