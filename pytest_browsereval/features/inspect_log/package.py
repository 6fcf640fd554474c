"""Inspect's public names, imported when a log is written: that takes two seconds."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from pytest_browsereval.errors import ConfigError


def check_installed() -> None:
    """Check that Inspect is there.

    Raises:
        ConfigError: it is not; the message says what to type.
    """
    if find_spec("inspect_ai") is None:
        raise ConfigError("Inspect logs need an extra. Run `pip install 'pytest-browsereval[inspect]'`.")


def load_api() -> Any:
    """Return what is used of Inspect, by its names.

    Raises:
        ConfigError: it is not installed.
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
