"""``browser: {type: cdp}``: a browser that runs already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the browser; it is imported when a config names it."""
    registry.announce("browser", "cdp", f"{__package__}.browser:CdpBrowserConfig")
