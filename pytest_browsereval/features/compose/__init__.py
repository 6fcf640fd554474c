"""Sites that Docker Compose runs: ``sites: {shop: {compose: compose.yaml, service: web, port: 3000}}``."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(readers=("reader:ComposeReader",), keys=(("sites", "compose"),), hooks="plugin")
