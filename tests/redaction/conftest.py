"""One browser, for what a real one writes."""

from __future__ import annotations

from tests.support import browser, run

__all__ = ["browser", "run"]
