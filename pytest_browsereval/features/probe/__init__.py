"""Probes: after an attempt has failed, the known way of its row is played, to tell the site's fault."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(keys=(("probe",),), hooks="plugin")
