"""Runs at a URL: ``--eval-output=URL``, ``browsereval push`` and ``pull``, URLs where commands take a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_by_hand, is_worker, results_url_key

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.features.remote.hooks import Uploading
    from pytest_browsereval.model.remote import RemoteRuns

uploading_key: pytest.StashKey[Uploading] = pytest.StashKey()
BROUGHT = "browsereval_brought"
"""Under which a worker gets the folders that runs were brought into, by the names of the evals."""


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Send the runs to the URL."""
    url, name = config.getoption("eval_output"), config.getoption("eval_run_name")
    if url is None or "://" not in url:
        if name is not None:
            raise pytest.UsageError("--eval-run-name has no effect without a URL. Write `--eval-output=URL`")
        return
    config.option.eval_output = ""  # it was given, and names no folder: runs are made on this machine
    config.stash[results_url_key] = url
    from pytest_browsereval.features.remote.hooks import Uploading
    from pytest_browsereval.hooks.controller import controller_key
    from pytest_browsereval.hooks.redaction import usage_errors
    from pytest_browsereval.hooks.session import eval_session_key

    if is_worker(config):
        return
    if config.getoption("eval_shard", None) is not None and name is None:
        raise pytest.UsageError("shards of a run at a URL need its name. Add `--eval-run-name=NAME` to all")
    with usage_errors():
        uploading = Uploading(config.stash[eval_session_key], config.stash[controller_key], url, name)
    config.stash[uploading_key] = uploading
    config.pluginmanager.register(uploading, "browsereval-uploading")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse hand-written tests, in workers too: their runs are their own, and would not be sent."""
    url = config.stash.get(results_url_key, None)
    if url is not None and (item := next(filter(is_by_hand, items), None)) is not None:
        from pytest_browsereval.errors import UsageError
        from pytest_browsereval.hooks.session import eval_session_key

        message = (
            f"--eval-output={url} sends runs of eval configs, and {item.nodeid} is a hand-written test. "
            "Leave the option out, and push its run: `browsereval push RUN URL`."
        )
        config.stash[eval_session_key].problems.append(UsageError(message))


def pytest_browsereval_bring_run(config: pytest.Config, eval_config: EvalConfig) -> Path | None:
    """Return the folder with what there is of a run at the URL; in a worker the one of its controller."""
    if not is_worker(config):
        uploading = config.stash.get(uploading_key, None)
        return None if uploading is None else uploading.bring(eval_config)
    given: Mapping[str, str | None] | None = config.workerinput.get(BROUGHT)  # type: ignore[attr-defined]
    if given is None:
        return None
    if eval_config.name not in given:
        from pytest_browsereval.errors import UsageError

        raise UsageError(f"{eval_config.path}: with -n and a URL, name evals with --eval-config=FILE.")
    found = given[eval_config.name]
    return None if found is None else Path(found)


def pytest_browsereval_open_runs(url: str) -> RemoteRuns:
    """Return all runs at a URL, for those who list them."""
    from pytest_browsereval.features.remote.claims import BucketRuns

    return BucketRuns(url)


def pytest_browsereval_fetch_run(
    url: str,
    with_files: bool,  # noqa: FBT001 hooks are called with keywords
) -> Sequence[Path]:
    """Return copies of the parts of a run, made once."""
    from pytest_browsereval.features.remote.push_pull import fetch

    return fetch(url, with_files=with_files)
