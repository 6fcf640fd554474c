"""Notes of what a run does not read: options of pytest-playwright, and variables that no part asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.run.active import ActiveRun

_PREFIX = "BROWSEREVAL_"
_READ = (
    "BROWSER",
    "CDP_URL",
    "COLLECTOR_TOKEN",
    "FILES_DIR",
    "MCP_TOKEN",
    "MCP_URL",
    "OUTPUT_DIR",
    "RUN_FOLDERS",
)
"""Variables that this package reads, or gives to the programs that it starts."""

_OPTIONS = {
    "headed": "--eval-headed",
    "slowmo": "`browsereval view`, which opens the page of the run with a picture of each step",
    "browser": "no option: evals run in Chromium only",
    "browser_channel": "--eval-set browser.binary=FILE",
    "device": "--eval-set browser.context.device=NAME",
    "base_url": '`sites` in the config, and "{NAME}/path" in rows',
}
"""Options of pytest-playwright and pytest-base-url, and what does the same for rows."""


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Have the notes printed, once."""
    if not is_worker(config):
        config.pluginmanager.register(_Notes(config), "browsereval-hints")


class _Notes:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_browsereval_check_run(self, active_run: ActiveRun) -> list[str]:
        """Return what is given and has no effect on rows."""
        text = active_run.config.path.read_text(encoding="utf-8", errors="replace")
        return [*self._describe_options(), *self._describe_variables(text)]

    def _describe_options(self) -> Iterator[str]:
        # Of addopts as well; they may be for hand-written tests, so they are not refused.
        for name, ours in _OPTIONS.items():
            if self._config.getoption(name, None):
                yield f"--{name.replace('_', '-')} has no effect on rows of evals; for these there is {ours}"

    def _describe_variables(self, text: str) -> Iterator[str]:
        for variable in sorted(os.environ):
            name = variable.removeprefix(_PREFIX)
            if name == variable or name in _READ or variable in text:
                continue
            yield (
                f"the variable {variable} is not read. Write `--eval-set KEY=VALUE` for a key of the config, "
                "or an option that `pytest --help` lists under browsereval"
            )
