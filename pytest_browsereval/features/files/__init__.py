"""Files that agents upload and download."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    kits=("tools:KIT",), checks={"download": "check:FORM"}, keys=(("capture", "downloads"),), hooks="plugin"
)
