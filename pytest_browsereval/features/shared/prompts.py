"""Texts that models are sent, kept as text: ``prompts.yaml`` next to the modules that send them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml


def read_prompts(module: str) -> Mapping[str, str]:
    """Return the texts that a module sends, by name.

    Args:
        module: its ``__file__``; its name is the key of its texts.
    """
    file = Path(module)
    texts: dict[str, dict[str, str]] = yaml.safe_load(
        file.with_name("prompts.yaml").read_text(encoding="utf-8")
    )
    return texts[file.stem]
