"""Which files are evals by their name. Light: ``plugin.py`` imports it in every pytest run."""

from __future__ import annotations

SUFFIXES = (".eval.yaml", ".eval.yml", ".eval.json", ".eval.toml")
"""Files with these endings are collected wherever pytest looks."""


def is_eval(name: str) -> bool:
    """Whether a file of that name is an eval config without being named by ``--eval-config``."""
    return name.endswith(SUFFIXES)
