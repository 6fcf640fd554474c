"""Warns when the tools have changed since the last run of the config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.run.lookup import age
from pytest_browsereval.run.manifest import tool_hashes
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.tools.base import Tool

TOLD = 5
"""Names that a note lists of each kind."""


def drift(store: RunStore, config: EvalConfig, tools: Sequence[Tool]) -> list[str]:
    """Return a note if the tools differ from those of the last run of the config; else nothing.

    Args:
        store: where this run will be; earlier ones are its neighbours.
        config: what is run.
        tools: the tools that are switched on.
    """
    last = next(_earlier(store, config), None)
    if last is None:
        return []
    before: Mapping[str, str] = last["tool_hashes"]
    now = tool_hashes(tools)
    kinds = {
        "new": [name for name in now if name not in before],
        "gone": [name for name in before if name not in now],
        "changed": [name for name in now if name in before and now[name] != before[name]],
    }
    if not any(kinds.values()):
        return []
    message = "; ".join(f"{kind}: {_join_names(names)}" for kind, names in kinds.items() if names)
    return [
        (f"the tools are not those of the last run ({last['run_id']}): {message}. Compare the two with care.")
    ]


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    return ", ".join(names[:TOLD]) + more


def _earlier(store: RunStore, config: EvalConfig) -> Iterator[dict[str, Any]]:
    """Yield the manifests of earlier runs of the config, the newest first; damaged ones are left out."""
    folders = store.root.parent.iterdir() if store.root.parent.is_dir() else iter(())
    for folder in sorted(folders, key=age, reverse=True):
        manifest = RunStore(folder).manifest()
        is_same = manifest.get("config_file") == config.path.name
        if is_same and isinstance(manifest.get("tool_hashes"), dict) and folder != store.root:
            yield {**manifest, "run_id": folder.name}
