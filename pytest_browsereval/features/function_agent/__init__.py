"""A function of the user as an agent."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"agent": {"function": "agent:FunctionConfig"}})
