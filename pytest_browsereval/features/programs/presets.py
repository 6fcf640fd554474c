"""Programs that the ``command`` agent knows: read from ``presets.yaml``, which holds data only."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from pytest_browsereval.errors import nearest


@dataclass(frozen=True)
class Preset:
    """One program: what its block leaves out, and how it is installed."""

    title: str
    """What messages call it."""
    install: str
    """What to type if it is missing."""
    tried: str
    """The version that it was tried with."""
    block: Mapping[str, Any]
    """Keys of the agent's block, which checks them."""
    passes: Sequence[str] = ()
    """Variables that it gets where they are set."""
    needs_one_of: Sequence[str] = ()
    """Variables of which one has to be set."""


@functools.cache
def presets() -> Mapping[str, Preset]:
    """Return all presets by their names."""
    text = files(__package__).joinpath("presets.yaml").read_text(encoding="utf-8")
    return {name: Preset(**keys) for name, keys in yaml.safe_load(text).items()}


def preset(name: str) -> Preset:
    """Return a preset.

    Raises:
        ValueError: there is none of the name.
    """
    known = presets()
    if name not in known:
        raise ValueError(f"unknown preset {name!r}.{nearest(name, known)} Known: {', '.join(known)}.")
    return known[name]
