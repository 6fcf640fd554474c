"""Fixtures of the tests of traces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.exported import mixed_run
from tests.features.otel.receiver import Receiver, receiving

__all__ = ["mixed_run"]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Return a receiver, in an environment that names none."""
    for name in ("ENDPOINT", "HEADERS", "TIMEOUT"):
        for kind in ("", "TRACES_"):
            monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{kind}{name}", raising=False)
    for name in ("OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(name, raising=False)
    with receiving() as found:
        yield found
