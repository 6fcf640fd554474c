"""What a variant of a run was made of: two runs of the same differ by chance and by the site alone.

What counts is what ``browsereval compare`` reports as a difference, without rows, which are looked at one
by one, without the machine but for its browser, and without how often a trial is repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_browsereval.features.shared.manifest_lines import block_of
from pytest_browsereval.features.shared.provenance import LEFT_OUT, differences
from pytest_browsereval.run.manifest import MACHINE

BESIDES = frozenset(
    {
        *(key for key in MACHINE if key != "browser"),
        "datasets",
        "config.dataset",
        "config.trials",
        "config.retries",
        "imported_from",
        "schema_version",
    }
)
"""Keys of a manifest that a line of runs goes on over."""

_LEFT_OUT = LEFT_OUT | BESIDES

WORDS = (
    ("config.variants", "agent"),
    ("config.limits", "agent"),
    ("config.tool", "agent"),
    ("tool_schema_hash", "agent"),
    ("config.judge", "judge"),
    ("config.graders", "judge"),
    ("config.pass_when", "judge"),
    ("config.browser", "browser"),
    ("browser", "browser"),
)
"""What keys are about, by how they begin; others are about the config."""


def hash_provenances(manifest: Mapping[str, Any], variants: Iterable[str]) -> dict[str, str]:
    """Return a hash over what each variant of a run was made of; empty where that is unknown."""
    if not manifest:
        return dict.fromkeys(variants, "")
    config = block_of(manifest.get("config"))
    agents = block_of(config.get("variants"))
    kept = {key: value for key, value in manifest.items() if key not in (*_LEFT_OUT, "config")}
    left_out = {*_LEFT_OUT, "config.variants"}
    shared = {key: value for key, value in config.items() if f"config.{key}" not in left_out}
    return {name: hash_values(kept, shared, name, agents.get(name)) for name in variants}


def hash_values(*values: Any) -> str:
    """Return a hash over plain values."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_provenance(manifest: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """Return the manifest as it is about one variant."""
    config = dict(block_of(manifest.get("config")))
    config["variants"] = {variant: block_of(config.get("variants")).get(variant)}
    return {**manifest, "config": config}


def describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what differs between the provenance of two runs, by what it is about: a line for each value."""
    found: dict[str, list[str]] = {}
    for key, line in differences(before, after, besides=BESIDES).items():
        word = _find_word(key)
        found.setdefault(word, []).append(line.removeprefix("config.variants.").removeprefix(f"{word}: "))
    return found


def _find_word(key: str) -> str:
    return next((word for start, word in WORDS if key.startswith(start)), "config")
