"""What a variant of a run was made of: two runs of the same differ by chance and by the site alone.

What counts is what ``browsereval compare`` reports as a difference, without rows, without the machine but for
its browser, and without how often a trial is repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pytest_browsereval.features.shared.manifest_lines import block_of
from pytest_browsereval.features.shared.provenance import LEFT_OUT
from pytest_browsereval.run.manifest import MACHINE

BESIDES = LEFT_OUT | {key for key in MACHINE if key != "browser"} | {
    "datasets", "config.dataset", "config.trials", "config.retries", "imported_from", "schema_version"
}  # fmt: skip
"""Keys of a manifest that a line of runs goes on over."""

WORDS = {
    "agent": ("config.limits", "config.tool", "tool_schema_hash"),
    "judge": ("config.judge", "config.graders", "config.pass_when"),
    "browser": ("config.browser", "browser"),
    "config": ("",),
}
"""What keys are about, by how they begin: the first word that fits."""


def hash_parts(manifest: Mapping[str, Any], variants: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return hashes over what each variant of a run was made of, by ``WORDS``; none where that is unknown."""
    if not manifest:
        return {name: {} for name in variants}
    config = block_of(manifest.get("config"))
    agents = block_of(config.get("variants"))
    left_out = {*BESIDES, "config", "config.variants"}
    parts: dict[str, dict[str, Any]] = {word: {} for word in WORDS}
    for key, value in {**manifest, **{f"config.{key}": value for key, value in config.items()}}.items():
        if key not in left_out and value is not None:
            parts[_find_word(key)][key] = value
    found = {word: hash_values(part) for word, part in parts.items()}
    return {
        name: found | {"agent": hash_values([found["agent"], name, agents.get(name)])} for name in variants
    }


@lru_cache(maxsize=1024)  # the keys of all runs are the same
def _find_word(key: str) -> str:
    return next(word for word, starts in WORDS.items() if key.startswith(starts))


def hash_values(values: Any) -> str:
    """Return a hash over plain values."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
