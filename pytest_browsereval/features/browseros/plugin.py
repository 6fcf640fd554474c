"""Run configs and suites of BrowserOS are read as configs of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.config.draft import Draft
    from pytest_browsereval.registry import Registry


class BrowserOSReader:
    """Knows the words of BrowserOS; a config of ours stays as it is."""

    name = "browseros"

    def convert(self, draft: Draft, environ: Mapping[str, str]) -> None:
        """Turn what the command line need not know."""
        from pytest_browsereval.features.browseros.run_config import convert

        convert(draft, environ)

    def convert_blocks(self, draft: Draft, registry: Registry) -> None:
        """Turn agents and browser, the command line's overrides among them."""
        from pytest_browsereval.features.browseros.run_config import convert_blocks

        convert_blocks(draft, registry)


def pytest_browsereval_register(registry: Registry) -> None:
    """Hand the reader over."""
    registry.add_reader(BrowserOSReader())
