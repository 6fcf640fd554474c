"""The export ``otel``: attempts as traces of OpenTelemetry, with grades as events and scores."""
