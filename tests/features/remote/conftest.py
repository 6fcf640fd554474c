"""Fixtures of the tests of runs at a URL: a folder as the bucket, and the cache of copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.remote.test_push_and_pull import bucket_of
from tests.hooks.small_evals import Evals


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have copies of runs in a folder of the test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: folder / name)
    return folder


@pytest.fixture
def bucket(evals: Evals) -> str:
    """Return the URL of an empty folder."""
    return bucket_of(evals).as_uri()
