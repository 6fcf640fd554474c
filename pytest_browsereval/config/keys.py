"""The door of a config: keys in camelCase become snake_case, and messages go on to name them as written."""

from __future__ import annotations

from typing import Annotated

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.registry import Plugged, Registry
from pytest_browsereval.validation_errors import accepts_camel_case, canonical_key, walk


class ConfigFile(EvalConfig):
    """The blocks that a file may have; only its annotations are used."""

    agent: Annotated[AgentConfig, Plugged("agent")]


def rename_keys(draft: Draft, registry: Registry) -> None:
    """Rename the keys of a draft that are in camelCase; it may be done again after a change.

    Args:
        draft: values as the user wrote them.
        registry: the members that blocks may name.
    """
    for path, block, kind in walk(draft.tree, ConfigFile, registry):
        # Names of variants, headers and variables stay as they are, and so do keys of plug-ins that have not
        # asked for two spellings. A block that nobody describes is renamed too, as a reader of another
        # system's words may know it; not what is inside, which may be data.
        if not isinstance(block, dict) or not (kind is None or accepts_camel_case(kind)):
            continue
        items = list(block.items())
        block.clear()
        for key, value in items:
            name = canonical_key(key)
            if name != key and name in dict(items):
                draft.report((*path, key), f"also given as {name!r}. Leave one out.")
                continue
            block[name] = value
            if name != key:
                draft.note_move((*path, key), (*path, name))
