"""The fixture of the whole-program tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.features.remote.servers import s3_server
from tests.hooks.conftest import evals

__all__ = ["evals"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a server of S3: each test makes a bucket of its own there."""
    with s3_server(tmp_path_factory.mktemp("s3")) as port:
        yield port
