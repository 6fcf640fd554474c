"""The export ``otel``: attempts as traces of OpenTelemetry, with grades as events and scores."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"export": {"otel": "export:OtelExport"}})
