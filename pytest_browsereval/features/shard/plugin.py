"""``--eval-shard``: one part of a run, on one of several machines."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.names import is_worker

_engine_key = pytest.StashKey[str]()
_SHARD = "browsereval_shard"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker: it parses the command line again, and may be on a machine of another engine."""
    node.workerinput[_SHARD] = node.config.getoption("eval_shard")


def _ask_engine(config: pytest.Config, given: str) -> None:
    """Replace the option by the shard that the environment names."""
    from pytest_browsereval.features.shard.engines import find_shard
    from pytest_browsereval.redaction.known import redact_known

    if is_worker(config):
        config.option.eval_shard = config.workerinput[_SHARD]  # type: ignore[attr-defined]
        return
    try:
        shard, config.stash[_engine_key] = find_shard(given, os.environ)
    except UsageError as error:
        raise pytest.UsageError(redact_known(str(error))) from None
    config.option.eval_shard = str(shard)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which shard this is, and who says so."""
    engine = config.stash.get(_engine_key, None)
    return engine and f"browsereval: shard {config.getoption('eval_shard')}, says {engine}"


@pytest.hookimpl(tryfirst=True)
def pytest_browsereval_start(config: pytest.Config) -> None:
    """Leave out what the other shards run."""
    if str(config.getoption("eval_shard")).startswith("auto"):
        _ask_engine(config, config.getoption("eval_shard"))
    given: str | None = config.getoption("eval_shard")
    if given is None:
        return
    from pytest_browsereval.features.shard.hooks import Sharding, shard_of
    from pytest_browsereval.hooks.session import eval_session_key

    sharding = Sharding(config.stash[eval_session_key], shard_of(given))
    config.pluginmanager.register(sharding, "browsereval-sharding")
