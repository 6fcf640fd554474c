"""Reads run configs and suites of BrowserOS; what that takes is imported where there are some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.config.draft import Draft
    from pytest_browsereval.registry import Registry


class BrowserOSReader:
    """Converts the keys of BrowserOS, and leaves a config of ours as it is."""

    name = "browseros"

    def convert(self, draft: Draft, environ: Mapping[str, str]) -> None:
        """Convert keys that the command line need not know."""
        from pytest_browsereval.features.browseros.run_config import convert

        convert(draft, environ)

    def convert_blocks(self, draft: Draft, registry: Registry) -> None:
        """Convert agents and browser, after the overrides of the command line."""
        from pytest_browsereval.features.browseros.run_config import convert_blocks

        convert_blocks(draft, registry)

    def extend_schema(self, schema: dict[str, Any]) -> None:
        """Add the keys of BrowserOS to the JSON schema of configs."""
        from pytest_browsereval.features.browseros.schema import extend_schema

        extend_schema(schema)
