"""One model with the browser's tools as an agent."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"agent": {"single tool-loop": "agent:SingleConfig"}})
