"""Programs that the ``command`` agent knows: read from ``presets.yaml``, which holds data only."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.programs.mcp_file import McpFile
from pytest_browsereval.features.programs.rules import AnswerRule, EventRules, UsageRule


class Preset(BaseModel):
    """One program: what its block leaves out, and how it is installed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    title: str
    """What messages call it."""
    install: str
    """What to type if it is missing."""
    command: tuple[str, ...] = Field(min_length=1)
    """Program and arguments."""
    model_args: tuple[str, ...] = ()
    """Added where the block names a model."""
    stdin: Literal["none", "task"] = "none"
    """What its standard input is."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables of the program."""
    passes: tuple[str, ...] = ()
    """Variables that it gets where they are set."""
    needs_one_of: tuple[str, ...] = ()
    """Variables of which one has to be set."""
    mcp_config: McpFile
    """Where and how it reads its MCP servers."""
    events: EventRules
    """Which lines of its output are messages."""
    usage: UsageRule
    """Which lines tell tokens and money."""
    answer: AnswerRule
    """Where its answer is."""

    def block(self) -> dict[str, Any]:
        """Return the keys that a block of the agent may have as well."""
        own = {"title", "install", "passes", "needs_one_of"}
        return {name: getattr(self, name) for name in type(self).model_fields if name not in own}


@functools.cache
def presets() -> Mapping[str, Preset]:
    """Return all presets by their names."""
    text = files(__package__).joinpath("presets.yaml").read_text(encoding="utf-8")
    return {name: Preset.model_validate(block) for name, block in yaml.safe_load(text).items()}


def preset(name: str) -> Preset:
    """Return a preset.

    Raises:
        ValueError: there is none of the name.
    """
    known = presets()
    if name not in known:
        raise ValueError(f"unknown preset {name!r}.{nearest(name, known)} Known: {', '.join(known)}.")
    return known[name]
