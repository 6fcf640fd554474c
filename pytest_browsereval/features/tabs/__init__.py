"""Tools that list, open, choose and close tabs."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(kits=("tools:KIT",))
