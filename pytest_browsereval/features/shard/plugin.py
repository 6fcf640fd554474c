"""``--eval-shard``: one part of a run, on one of several machines."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add = parser.getgroup("browsereval").addoption
    add(
        "--eval-shard",
        metavar="I/N",
        help="run only shard I of N, such as 1/4; `browsereval merge` joins the shards into one run",
    )
    add(
        "--eval-shard-by",
        metavar="RUN",
        help="make all shards take about the same time, by how long each row took in this earlier run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Wake up if the option is given: it is about tests by hand as well."""
    # Nothing is known of those before they are collected.
    if config.getoption("eval_shard") is not None:
        from pytest_browsereval.hooks.start import start

        start(config)


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Leave out what the other shards run."""
    given: str | None = config.getoption("eval_shard")
    if given is None:
        if config.getoption("eval_shard_by") is not None:
            raise pytest.UsageError(
                "--eval-shard-by has no effect without --eval-shard. Write `--eval-shard=1/4`"
            )
        return
    from pytest_browsereval.features.shard.hooks import Sharding, shard_of
    from pytest_browsereval.hooks.session import eval_session_key

    sharding = Sharding(config.stash[eval_session_key], shard_of(given))
    config.pluginmanager.register(sharding, "browsereval-sharding")
