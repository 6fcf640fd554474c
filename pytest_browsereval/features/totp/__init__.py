"""Codes of two-factor authentication: ``variables: {CODE: {totp: ${SECRET}}}``."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(readers=("reader:TotpReader",), keys=(("variables", "totp"),))
