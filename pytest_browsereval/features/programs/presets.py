"""Programs that the ``command`` agent knows: read from ``presets.yaml``, which holds data only."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from pytest_browsereval.errors import nearest

VERSION_LIMIT_S = 20


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

    def compare(self, version: str) -> str:
        """Return a note for a program of another version than the one that was tried; "" for that one."""
        if version == self.tried:
            return ""
        found = f"is version {version}" if version else "does not report its version"
        return (
            f"{self.title} {found}; the preset was tried with {self.tried}. "
            "Another version may offer its model tools that read files or run commands."
        )


@functools.cache
def preset(name: str) -> Preset:
    """Return a preset.

    Raises:
        ValueError: there is none of the name.
    """
    known = yaml.safe_load(files(__package__).joinpath("presets.yaml").read_text(encoding="utf-8"))
    if name not in known:
        raise ValueError(f"unknown preset {name!r}.{nearest(name, known)} Known: {', '.join(known)}.")
    return Preset(**known[name])


def read_version(program: str, env: Mapping[str, str]) -> str:
    """Return the version that a program tells; "" if it tells none."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:  # some write settings even then
        try:
            told = subprocess.run(  # noqa: S603 the config's own program
                [program, "--version"],
                env={**env, "HOME": home},
                cwd=home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VERSION_LIMIT_S,
                check=False,
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""
    found = re.search(r"\d+(\.\d+)+\S*", told[:1000])
    return found[0] if found else ""
