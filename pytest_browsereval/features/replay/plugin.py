"""``--eval-llm`` and ``capture: {har: replay}``: model calls and web traffic of trials in cassettes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.run.cassettes import CassetteSource


def pytest_browsereval_cassettes(config: pytest.Config) -> CassetteSource:
    """Have runs use cassettes in the mode of the option; each of them may record or replay pages."""
    from pytest_browsereval.features.replay.cassettes import ModelCalls, make_cassettes
    from pytest_browsereval.run.cassettes import CassetteSource

    mode = ModelCalls(config.getoption("eval_llm"))
    return CassetteSource(mode, partial(make_cassettes, mode=mode))


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Stand between the models of this process and the network, unless all calls are live."""
    if config.getoption("eval_llm") == "live":
        return
    from pytest_browsereval.features.replay.cassettes import ModelCalls
    from pytest_browsereval.features.replay.hooks import ReplayHooks
    from pytest_browsereval.hooks.session import eval_session_key

    hooks = ReplayHooks(config.stash[eval_session_key], ModelCalls(config.getoption("eval_llm")))
    config.pluginmanager.register(hooks, "browsereval-replaying")
