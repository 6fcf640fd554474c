"""The door of a config: keys become snake_case, and messages still name them as they are written."""

from __future__ import annotations

from typing import Annotated

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.registry import MemberOf, Registry
from pytest_browsereval.validation_errors import accepts_camel_case, canonical_key, walk


class ConfigFile(EvalConfig):
    """The keys that a file may have; no value is validated by this class."""

    agent: Annotated[AgentConfig, MemberOf("agent")]


def rename_keys(draft: Draft, registry: Registry) -> None:
    """Rename the keys of a draft that are in camelCase; it may be done again after a change.

    Args:
        draft: values as the user wrote them.
        registry: the members that blocks may name.
    """
    for path, block, kind in walk(draft.tree, ConfigFile, registry):
        # Names of variants, headers and variables stay as they are, and so do keys of plug-ins that accept
        # one spelling only. Keys of a block that no model describes are renamed, because a reader of another
        # system may know them; keys further inside are not, because they may be data.
        if not isinstance(block, dict) or not (kind is None or accepts_camel_case(kind)):
            continue
        items = list(block.items())
        block.clear()
        for key, value in items:
            # A marker of a test may have other keys than texts, which validation refuses.
            name = canonical_key(key) if isinstance(key, str) else key
            if name != key and name in dict(items):
                draft.report((*path, key), f"also given as {name!r}. Leave one out.")
                continue
            block[name] = value
            if name != key:
                draft.note_move((*path, key), (*path, name))
