"""``--eval-shard``: one part of a run, on one of several machines."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_browsereval.hooks.names import is_worker

_engine_key = pytest.StashKey[str]()
_SHARD = "browsereval_shard"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker: it parses the command line again, and may be on a machine of another engine."""
    node.workerinput[_SHARD] = node.config.getoption("eval_shard")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which shard this is, and who says so."""
    engine = config.stash.get(_engine_key, None)
    return engine and f"browsereval: shard {config.getoption('eval_shard')}, says {engine}"


@pytest.hookimpl(tryfirst=True)
def pytest_browsereval_start(config: pytest.Config) -> None:
    """Leave out what the other shards run."""
    given: str | None = config.getoption("eval_shard")
    if given is None:
        return
    from pytest_browsereval.features.shard.engines import find_shard
    from pytest_browsereval.features.shard.hooks import Sharding
    from pytest_browsereval.hooks.redaction import usage_errors
    from pytest_browsereval.hooks.session import eval_session_key
    from pytest_browsereval.run.shards import read_shard

    if is_worker(config):
        given = str(config.workerinput.get(_SHARD) or given)  # type: ignore[attr-defined]
    with usage_errors():
        if given.startswith("auto"):
            shard, config.stash[_engine_key] = find_shard(given, os.environ)
        else:
            shard = read_shard(given)
    config.option.eval_shard = str(shard)
    sharding = Sharding(config.stash[eval_session_key], shard)
    config.pluginmanager.register(sharding, "browsereval-sharding")
