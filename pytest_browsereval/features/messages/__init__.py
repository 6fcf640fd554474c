"""Anthropic's Messages API: ``provider: anthropic``, or ``api: messages`` of a server that speaks it."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(apis={"messages": "api:Messages"})
