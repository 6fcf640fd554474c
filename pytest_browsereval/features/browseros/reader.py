"""Reads run configs and suites of BrowserOS; what that takes is imported where there are some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.config.draft import Draft
    from pytest_browsereval.registry import Registry

KEYS = frozenset(
    {"id", "browseros", "captcha", "gui_evals", "molmo_endpoint", "timeout_ms"}
    | {"restart_server_per_task", "restart_browser_per_task"}
    | {"grader_model", "grader_api_key_env", "grader_base_url"}
)
"""Keys of its files that ours do not have."""

AGENTS = ("orchestrator-executor", "orchestrated", "claude-code", "gemini-computer-use", "yutori-navigator")
"""Types of agents whose blocks may be written as in its files."""


class BrowserOSReader:
    """Converts the keys of BrowserOS, and leaves a config of ours as it is."""

    name = "browseros"

    def recognises(self, tree: Mapping[str, Any]) -> bool:
        """Whether there is a key or an agent of BrowserOS; some agents are named as ours are."""
        variants = tree.get("variants")
        agents = [tree.get("agent"), *(variants.values() if isinstance(variants, dict) else ())]
        kinds = (agent.get("type") if isinstance(agent, dict) else agent for agent in agents)
        return not KEYS.isdisjoint(tree) or any(kind in AGENTS for kind in kinds)

    def convert(self, draft: Draft, environ: Mapping[str, str]) -> None:
        """Convert keys that the command line need not know."""
        from pytest_browsereval.features.browseros.run_config import convert

        convert(draft, environ)

    def convert_blocks(self, draft: Draft, registry: Registry) -> None:
        """Convert agents and browser, after the overrides of the command line."""
        from pytest_browsereval.features.browseros.run_config import convert_blocks

        convert_blocks(draft, registry)
