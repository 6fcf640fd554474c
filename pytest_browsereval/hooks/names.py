"""Names that both sides of the door know. Light: ``plugin.py`` imports it in every pytest run."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import suppress

import pytest

is_planned_key = pytest.StashKey[bool]()
"""Whether rows are checked and nothing is run: a feature sets it before pytest is configured."""

ini_markers_key = pytest.StashKey[tuple[str, ...]]()
"""Lines of the ini option ``markers`` as the user has them, before code registers more."""

is_controlled_key = pytest.StashKey[bool]()
"""Whether attempts wait for the one who pauses, stops or repeats them: a feature sets it when it starts."""

results_url_key = pytest.StashKey[str]()
"""The URL that runs are sent to: a feature sets it when it starts."""

CONFIG_SUFFIXES = (".yaml", ".yml", ".json", ".toml")
"""What configs are written in."""

SUFFIXES = tuple(f".eval{suffix}" for suffix in CONFIG_SUFFIXES)
"""Files with these endings are collected wherever pytest looks."""

_OPTIONS = ("min_pass_rate", "set", "agent", "limit", "trials", "lanes", "output", "llm", "shard", "baseline")
_NOT_GIVEN: tuple[object, ...] = (None, [], "live")
"""What they are by default."""


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is a worker of pytest-xdist, which neither gates nor prints."""
    return hasattr(config, "workerinput")


def is_in_editor(config: pytest.Config) -> bool:
    """Whether the test view of VS Code or PyCharm runs pytest: each brings a module of its own."""
    return config.pluginmanager.has_plugin("vscode_pytest") or "_jb_runner_tools" in sys.modules


def find_options_of_evals(config: pytest.Config) -> list[str]:
    """Return the given options that mean nothing where there is no eval; names are without ``--eval-``."""
    return [name for name in _OPTIONS if config.getoption(f"eval_{name}", None) not in _NOT_GIVEN]


def runs_nothing(config: pytest.Config) -> bool:
    """Whether the command line asks to look at items only."""
    option = config.option
    is_planned = config.stash.get(is_planned_key, False)
    return bool(option.collectonly or option.setuponly or option.setupplan or is_planned)


def is_eval(name: str) -> bool:
    """Whether a file of that name is an eval config without being named by ``--eval-config``."""
    return name.endswith(SUFFIXES)


def is_by_hand(item: pytest.Item) -> bool:
    """Whether it is a test with fixtures of ours: all of them rest on this one."""
    return "_handwritten" in getattr(item, "fixturenames", ())


def positive_integer(text: str) -> int:
    """Read an option."""
    with suppress(ValueError):
        if (number := int(text)) >= 1:
            return number
    raise ArgumentTypeError(f"it must be a number, 1 or more, not {text!r}")


def rate(text: str) -> float:
    """Read an option."""
    with suppress(ValueError):
        if 0 <= (number := float(text)) <= 1:
            return number
    raise ArgumentTypeError(f"it must be a number from 0 to 1, not {text!r}; write 0.8 for 80 %")
