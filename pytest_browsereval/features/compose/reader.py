"""Reads sites of Compose as sites of a command, which runs one project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig

PROGRAM = "pytest_browsereval.features.compose.service"


class ComposeReader:
    """Gives each site of Compose the command that runs it."""

    name = "compose"

    def recognises(self, tree: Mapping[str, Any]) -> bool:
        """Whether a site is one of Compose."""
        sites = tree.get("sites")
        return isinstance(sites, dict) and any(
            isinstance(one, dict) and "compose" in one for one in sites.values()
        )

    def complete(self, config: EvalConfig) -> EvalConfig:
        """Return the config with these commands."""
        sites = dict(config.sites)
        for name, site in config.sites.items():
            if site.compose is not None:
                words = (str(config.base_dir / site.compose), str(site.service), str(site.port))
                sites[name] = site.model_copy(
                    update={"command": ("{python}", "-m", PROGRAM, *words, "{port}")}
                )
        return config.model_copy(update={"sites": sites})
