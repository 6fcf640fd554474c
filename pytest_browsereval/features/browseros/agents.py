"""BrowserOS's agent blocks, read as blocks of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config_text import KeyPath
from pytest_browsereval.registry import OURS, Registry

PAIRS = ("orchestrator-executor", "orchestrated")
ACTION_PROVIDER = "clado-action"
POINTING = ("computer-use", "visual-action")
"""Agents that need our own tools, which act at points."""
TURNS = 30
"""How many turns BrowserOS's coordinate agents have unless their block says it."""


@dataclass(frozen=True)
class ScreenSize:
    """The size that an agent wants the page to have."""

    path: KeyPath
    value: Any


def convert_agents(draft: Draft, registry: Registry) -> list[ScreenSize]:
    """Turn each agent block of BrowserOS in a draft into one of ours; return the sizes that they ask for.

    Args:
        draft: where the blocks stand: as the agent, as a variant, as an executor.
        registry: an agent of a plug-in keeps its name.
    """
    sizes: list[ScreenSize] = []
    for path in _places(draft.tree):
        _convert(draft, path, registry, sizes)
    return sizes


def _places(tree: dict[str, Any]) -> Iterator[KeyPath]:
    if "agent" in tree:
        yield ("agent",)
    variants = tree.get("variants")
    if isinstance(variants, dict):
        yield from [("variants", name) for name in variants]


def _convert(draft: Draft, path: KeyPath, registry: Registry, sizes: list[ScreenSize]) -> None:
    block = draft.get(path)
    if isinstance(block, str) and block in _CONVERTERS:
        block = {"type": block}
        draft.put(path, block)
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or registry.owner("agent", kind) != OURS:
        return
    if kind in _CONVERTERS:
        _CONVERTERS[kind](draft, path, sizes)
    if kind in PAIRS:
        _plain_orchestrator(draft, path)
    if kind in PAIRS and "executor" in block:
        _name_executor(draft, (*path, "executor"))
        _convert(draft, (*path, "executor"), registry, sizes)


# -- one function a kind


def _claude_code(draft: Draft, path: KeyPath, sizes: list[ScreenSize]) -> None:
    del sizes
    draft.get(path).update({"type": "command", "preset": "claude-code"})
    draft.move((*path, "claude_path"), (*path, "program"))


@dataclass(frozen=True)
class _Coordinates:
    """An agent that looks at pictures and answers with points, in a protocol of its vendor's."""

    name: str
    instead: str

    def __call__(self, draft: Draft, path: KeyPath, sizes: list[ScreenSize]) -> None:
        """Make it ``computer-use`` where its block says an endpoint for chat completions."""
        block = draft.get(path)
        if "screen_size" in block:
            sizes.append(ScreenSize((*path, "screen_size"), block.pop("screen_size")))
        has_endpoint = "base_url" in block or "provider" in block
        if not (has_endpoint and "model" in block):
            draft.wrong(
                (*path, "type"),
                f"the protocol of {self.name!r} is its vendor's own. A model that answers with points over "
                f"chat completions does the same work; write  {self.instead}",
            )
            give_up(draft, path)
            return
        draft.move((*path, "turn_limit"), (*path, "max_turns"))
        block["type"] = "computer-use"
        block.setdefault("provider", "openai-compatible")
        block.setdefault("coordinates", "normalized")
        block.setdefault("max_turns", TURNS)


def _plain_orchestrator(draft: Draft, path: KeyPath) -> None:
    """Leave out what BrowserOS writes into every model's block, and an orchestrator has no use for."""
    model = draft.get((*path, "orchestrator"))
    if not isinstance(model, dict):
        return
    model.pop("type", None)
    if model.pop("supports_images", None) is True:
        place = draft.format_keys((*path, "orchestrator", "supports_images"))
        draft.notes.append(f"{place} is not used: an orchestrator sees no page.")


def _name_executor(draft: Draft, path: KeyPath) -> None:
    """Say the type of an executor that BrowserOS tells by its provider; others are models of ``single``."""
    block = draft.get(path)
    if not isinstance(block, dict) or "type" in block or block.get("provider") != ACTION_PROVIDER:
        return
    block.pop("provider")
    block.update({"type": "visual-action", "history": "text"})
    for key in [key for key in ("model", "provider_id") if key in block]:
        block.pop(key)
        draft.notes.append(
            f"{draft.format_keys((*path, key))} is not used: the address says which model answers."
        )
    draft.move((*path, "base_url"), (*path, "url"))
    if "url" not in block:
        draft.wrong(
            path,
            "baseUrl is missing. Write  baseUrl: http://HOST:PORT/PATH  of the server that predicts actions.",
        )
        give_up(draft, path)


def points(agent: Any) -> bool:
    """Return True if an agent's block, or its executor's, is one that acts at points of the page."""
    if not isinstance(agent, dict):
        return agent in POINTING
    return agent.get("type") in POINTING or points(agent.get("executor"))


def give_up(draft: Draft, path: KeyPath) -> None:
    """Leave something that is valid, so that what is told is not told again."""
    draft.put(path, {"type": "noop"})


_POINTS = "coordinates: normalized, max_turns: 30}"
_CONVERTERS: dict[str, Callable[[Draft, KeyPath, list[ScreenSize]], None]] = {
    "claude-code": _claude_code,
    "gemini-computer-use": _Coordinates(
        "gemini-computer-use",
        "agent: {type: computer-use, provider: google, model: gemini-2.5-pro, api_key: GEMINI_API_KEY, "
        + _POINTS,
    ),
    "yutori-navigator": _Coordinates(
        "yutori-navigator",
        "agent: {type: computer-use, provider: openai-compatible, base_url: https://HOST/v1, model: NAME, "
        "api_key: NAME_OF_VARIABLE, " + _POINTS,
    ),
}
"""By BrowserOS's name of the agent."""
