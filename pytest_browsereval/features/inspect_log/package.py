"""Inspect's public names, imported when a log is written: that takes two seconds."""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

from pytest_browsereval.errors import ConfigError

OLDEST = (0, 3, 285)
"""The oldest version that was tried."""

INSTALL = "Run `pip install 'pytest-browsereval[inspect]'`"


def check_installed() -> None:
    """Check that Inspect is there and new enough.

    Raises:
        ConfigError: it is not; the message says what to type.
    """
    try:
        found = version("inspect-ai")
    except PackageNotFoundError:
        raise ConfigError(f"Inspect logs need an extra. {INSTALL}.") from None
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(f"inspect-ai {found} is too old: {oldest} is the oldest that was tried. {INSTALL}.")


def load_api() -> Any:
    """Return what is used of Inspect, by its names.

    Raises:
        ConfigError: it is not installed, or too old.
    """
    check_installed()
    from inspect_ai import dataset, event, log, model, scorer, tool

    names: dict[str, Any] = {}
    for module in (dataset, event, log, model, scorer, tool):
        names |= {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return SimpleNamespace(**names)


def make_id(*parts: object) -> str:
    """Return an id of 22 letters and digits, the same for the same parts."""
    return hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:22]
