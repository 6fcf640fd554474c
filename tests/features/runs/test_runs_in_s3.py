"""The list of runs in a bucket of S3, over HTTP."""

from __future__ import annotations

import pytest

from tests.features.remote.servers import Faults
from tests.features.remote.test_push_and_pull import cache, pushed, written
from tests.features.remote.test_s3 import bucket, faults
from tests.hooks.small_evals import Evals

pytestmark = pytest.mark.cluster

__all__ = ["bucket", "cache", "faults"]


def test_a_bucket_that_may_only_be_read(evals: Evals, bucket: str, faults: Faults) -> None:
    """The list is there; what was not written is said."""
    pushed(evals, written(evals), bucket)
    faults.plan("403 AccessDenied", 1, r"PUT /.*runs\.html")
    listed = evals.run_command("runs", bucket)
    assert listed.ret == 0
    listed.stderr.fnmatch_lines(["note: the page was not written: *the key may not do this*"])
