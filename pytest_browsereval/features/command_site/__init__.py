"""Sites that a command serves: ``sites: {shop: {command: [PROGRAM, "{port}"]}}``."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(sites={"command": "site:CommandSite"}, keys=(("sites", "command"),))
