"""The record of runs in a bucket of S3, over HTTP."""

from __future__ import annotations

import pytest

from tests.features.remote.servers import Faults
from tests.features.remote.test_push_and_pull import cache, pushed, written
from tests.features.remote.test_s3 import bucket, faults
from tests.hooks.small_evals import Evals

pytestmark = pytest.mark.cluster

__all__ = ["bucket", "cache", "faults"]


def test_runs_are_listed_by_few_requests(evals: Evals, bucket: str, faults: Faults) -> None:
    """The record is read instead of each run, also where answers to its writing got lost."""
    first = written(evals)
    faults.plan("lost", 1, r"PUT /.*\.record/.*\.json")
    faults.plan("503 SlowDown", 2, r"PUT /.*\.record/")
    pushed(evals, first, bucket)
    pushed(evals, written(evals), bucket)
    assert faults.is_over
    assert evals.run_command("runs", bucket).ret == 0
    faults.seen.clear()
    listed = evals.run_command("runs", bucket)
    assert (listed.ret, listed.outlines[-1]) == (0, f"page: {bucket}/runs.html")
    assert len([line for line in listed.outlines if "  shop  " in line]) == 2
    record = [line for line in faults.seen if ".record" in line]
    assert len(record) == 3, record  # the list of it, and two objects
    assert not [line for line in faults.seen if "manifest.json" in line or "/done" in line]


def test_a_bucket_that_may_only_be_read(evals: Evals, bucket: str, faults: Faults) -> None:
    """The list is there; what was not written is said."""
    pushed(evals, written(evals), bucket)
    faults.plan("403 AccessDenied", 1, r"PUT /.*runs\.html")
    listed = evals.run_command("runs", bucket)
    assert listed.ret == 0
    listed.stderr.fnmatch_lines(["note: the page was not written: *the key may not do this*"])
