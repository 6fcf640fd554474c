"""Local web apps under test: a static folder, or a command that serves on the port it is given."""

from __future__ import annotations

from pytest_browsereval.sites.leases import Sites
from pytest_browsereval.sites.placeholders import fill, names_in, unknown_sites
from pytest_browsereval.sites.settings import RESTART, SiteConfig, check

__all__ = ["RESTART", "SiteConfig", "Sites", "check", "fill", "names_in", "unknown_sites"]
