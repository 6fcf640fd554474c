"""The fixtures of the tests of configs."""

from tests.config.conftest import load, refused, registry

__all__ = ["load", "refused", "registry"]
