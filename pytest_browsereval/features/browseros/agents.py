"""Convert the agent blocks of BrowserOS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config_text import KeyPath
from pytest_browsereval.registry import OURS, Registry

PAIRS = ("orchestrator-executor", "orchestrated")
ACTION_PROVIDER = "clado-action"
POINTING = ("computer-use", "visual-action")
"""Types of agents that act at points of the page."""
STEPS_KEYS = ("max_steps_per_delegation", "maxStepsPerDelegation")
"""A key of the pair, which BrowserOS writes into the executor's block."""
TURNS = 30
"""The number of turns of BrowserOS's agents with coordinates, by default."""


def convert_agents(draft: Draft, registry: Registry) -> None:
    """Convert each agent block of BrowserOS in a draft.

    Args:
        draft: blocks may be the agent, a variant or an executor.
        registry: an agent of a plug-in keeps its name.
    """
    for path in find_agents(draft.tree):
        _convert(draft, path, registry)


def find_agents(tree: dict[str, Any]) -> Iterator[KeyPath]:
    """Yield the paths of the agent and of the variants."""
    if "agent" in tree:
        yield ("agent",)
    variants = tree.get("variants")
    if isinstance(variants, dict):
        yield from [("variants", name) for name in variants]


def _convert(draft: Draft, path: KeyPath, registry: Registry) -> None:
    block = draft.get(path)
    if isinstance(block, str) and block in _CONVERTERS:
        block = {"type": block}
        draft.put(path, block)
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or registry.owner("agent", kind) != OURS:
        return
    if kind in _CONVERTERS:
        _CONVERTERS[kind](draft, path)
    if kind in PAIRS:
        _plain_orchestrator(draft, path)
    if kind in PAIRS and "executor" in block:
        for key in STEPS_KEYS:
            draft.move((*path, "executor", key), (*path, STEPS_KEYS[0]))
        _name_executor(draft, (*path, "executor"))
        _convert(draft, (*path, "executor"), registry)


# -- one function per type


def _claude_code(draft: Draft, path: KeyPath) -> None:
    draft.get(path).update({"type": "command", "preset": "claude-code"})
    draft.move((*path, "claude_path"), (*path, "program"))


def _coordinates(name: str, instead: str, draft: Draft, path: KeyPath) -> None:
    """Convert an agent that answers with points, in a protocol of its vendor.

    It becomes a ``computer-use`` agent if the block has an endpoint for chat completions.
    """
    block = draft.get(path)
    if "model" not in block or not {"base_url", "provider"} & block.keys():
        draft.report(
            (*path, "type"),
            f"{name!r} speaks its vendor's own protocol, which is not supported. Use a model that answers "
            f"with points over chat completions: write `{instead}`",
        )
        give_up(draft, path)
        return
    draft.move((*path, "turn_limit"), (*path, "max_turns"))
    block["type"] = "computer-use"
    defaults = {"provider": "openai-compatible", "coordinates": "normalized", "max_turns": TURNS}
    block.update({key: value for key, value in defaults.items() if key not in block})


def _plain_orchestrator(draft: Draft, path: KeyPath) -> None:
    """Leave out keys that BrowserOS writes into every model's block and an orchestrator does not have."""
    model = draft.get((*path, "orchestrator"))
    if not isinstance(model, dict):
        return
    model.pop("type", None)
    if model.pop("supports_images", None) is True:
        place = draft.format_keys((*path, "orchestrator", "supports_images"))
        draft.notes.append(f"{place} is not used: an orchestrator sees no page.")


def _name_executor(draft: Draft, path: KeyPath) -> None:
    """Add the type of an executor that BrowserOS marks by its provider; others are models of ``single``."""
    block = draft.get(path)
    if not isinstance(block, dict) or "type" in block or block.get("provider") != ACTION_PROVIDER:
        return
    block.pop("provider")
    block.update({"type": "visual-action", "history": "text"})
    for key in [key for key in ("model", "provider_id") if key in block]:
        block.pop(key)
        draft.notes.append(
            f"{draft.format_keys((*path, key))} is not used: the address determines the model."
        )
    draft.move((*path, "base_url"), (*path, "url"))
    if "url" not in block:
        draft.report(
            path,
            "baseUrl is missing. Write `baseUrl: http://HOST:PORT/PATH` of the server that predicts actions.",
        )
        give_up(draft, path)


def acts_at_points(agent: Any) -> bool:
    """Return True if an agent, or its executor, acts at points of the page."""
    if not isinstance(agent, dict):
        return agent in POINTING
    return agent.get("type") in POINTING or acts_at_points(agent.get("executor"))


def give_up(draft: Draft, path: KeyPath) -> None:
    """Put a valid agent in the place of a wrong one, so that validation does not report it once more."""
    draft.put(path, {"type": "noop"})


_POINTS = "coordinates: normalized, max_turns: 30}"
_CONVERTERS: dict[str, Callable[[Draft, KeyPath], None]] = {
    "claude-code": _claude_code,
    "gemini-computer-use": partial(
        _coordinates,
        "gemini-computer-use",
        "agent: {type: computer-use, provider: google, model: gemini-2.5-pro, api_key: GEMINI_API_KEY, "
        + _POINTS,
    ),
    "yutori-navigator": partial(
        _coordinates,
        "yutori-navigator",
        "agent: {type: computer-use, provider: openai-compatible, base_url: https://HOST/v1, model: NAME, "
        "api_key: NAME_OF_VARIABLE, " + _POINTS,
    ),
}
"""Converters by BrowserOS's name of the agent."""
