"""Runs at a URL: ``--eval-output=URL``, ``browsereval push`` and ``pull``, URLs where commands take a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker, results_url_key

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.features.remote.hooks import EarlierTries
    from pytest_browsereval.model.remote import RemoteRuns

tries_key: pytest.StashKey[EarlierTries] = pytest.StashKey()
BROUGHT = "browsereval_brought"
"""Under which a worker gets the folders that runs were brought into, by the names of the evals."""


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Send the runs to the URL."""
    url, name = config.getoption("eval_output"), config.getoption("eval_run_name")
    is_url = url is not None and "://" in url
    named = (config.getoption(f"eval_{option}", None) for option in ("resume", "regrade"))
    earlier = next((run for run in named if run is not None and "://" in run), None)
    if is_url and name is None and earlier is not None:  # it keeps its name
        from pytest_browsereval.features.remote.pull import split_url

        name = split_url(earlier)[0].rpartition("/")[2]
    if is_url:  # it would be taken for a folder: runs are made on this machine
        config.option.eval_output = ""  # it was given, and names no folder
        config.stash[results_url_key] = url
        from pytest_browsereval.features.remote.hooks import TestsByHand
        from pytest_browsereval.hooks.session import eval_session_key

        session = config.stash[eval_session_key]
        config.pluginmanager.register(TestsByHand(session, url), "browsereval-url")
    if is_worker(config):
        return
    if earlier is not None or (is_url and name is not None):
        from pytest_browsereval.features.remote.hooks import EarlierTries
        from pytest_browsereval.hooks.session import eval_session_key

        tries = EarlierTries(config.stash[eval_session_key], url if is_url else None, name)
        config.stash[tries_key] = tries
        config.pluginmanager.register(tries, "browsereval-tries")
    if not is_url:
        if name is not None:
            raise pytest.UsageError(
                "--eval-run-name has no effect without a URL. Write `--eval-output=s3://...`"
            )
        return
    if config.getoption("eval_accept_done") and name is None:
        raise pytest.UsageError("--eval-accept-done has no effect without --eval-run-name=NAME. Add it.")
    if config.getoption("eval_shard", None) is not None and name is None:
        raise pytest.UsageError(
            "shards of a run at a URL need its name, the same for all of them. Write `--eval-run-name=NAME`"
        )
    from pytest_browsereval.errors import UsageError
    from pytest_browsereval.features.remote.hooks import Uploading
    from pytest_browsereval.hooks.controller import controller_key
    from pytest_browsereval.redaction.known import redact_known

    uploading = Uploading(config.stash[eval_session_key], config.stash[controller_key], url, name)
    try:
        uploading.check()
    except UsageError as error:
        raise pytest.UsageError(redact_known(str(error))) from None
    config.pluginmanager.register(uploading, "browsereval-uploading")


def pytest_browsereval_bring_run(
    config: pytest.Config, eval_config: EvalConfig, url: str | None
) -> Path | None:
    """Return the folder with what there is of a run at a URL; in a worker the one that its controller has."""
    if not hasattr(config.option, "eval_resume"):  # nothing could be done with it
        return None
    if is_worker(config):
        given: Mapping[str, str | None] | None = config.workerinput.get(BROUGHT)  # type: ignore[attr-defined]
        if given is None:
            return None
        if eval_config.name not in given:
            from pytest_browsereval.errors import UsageError

            raise UsageError(
                f"{eval_config.path}: with -n, name evals whose runs are at a URL by --eval-config=FILE."
            )
        found = given[eval_config.name]
        return None if found is None else Path(found)
    tries = config.stash.get(tries_key, None)
    return None if tries is None else tries.bring(eval_config, url)


def pytest_browsereval_open_runs(url: str) -> RemoteRuns:
    """Return all runs at a URL, for those who list them."""
    from pytest_browsereval.features.remote.record import BucketRuns

    return BucketRuns(url)


def pytest_browsereval_fetch_run(
    url: str,
    with_files: bool,  # noqa: FBT001 hooks are called with keywords
) -> Sequence[Path]:
    """Return copies of the parts of a run, made once."""
    from pytest_browsereval.features.remote.pull import fetch

    return fetch(url, with_files=with_files)
