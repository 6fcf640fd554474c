"""The fixtures of the tests of configs."""

from __future__ import annotations

from tests.config.conftest import editor, load, refused, registry

__all__ = ["editor", "load", "refused", "registry"]
