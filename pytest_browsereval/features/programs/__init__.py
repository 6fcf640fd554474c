"""The `command` agent: a program of others is started, given tools, read and ended."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"agent": {"command": "agent:CommandAgentConfig"}})
