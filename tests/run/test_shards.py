from __future__ import annotations

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.run.shards import Parts, Shard, read_shard


def test_a_shard_is_a_number_of_a_number() -> None:
    """From 1."""
    assert read_shard("2/4") == Shard(2, 4)
    assert str(Shard(1, 3)) == "1/3"


def test_anything_else_is_refused(subtests: pytest.Subtests) -> None:
    """With what to type."""
    for text in ["", "1", "1/", "/2", "a/b", "0/2", "3/2", "-1/2", "1/0", "1/2/3", "1.0/2"]:
        with subtests.test(text=text), pytest.raises(UsageError, match=r"--eval-shard="):
            read_shard(text)


def test_a_manifest_tells_the_parts() -> None:
    """Read as written; what is damaged or of an earlier version says nothing."""
    parts = Parts(3, (2,), (4, 1, 0), "abcd")
    assert Parts.of_run({"shards": parts.as_json()}) == parts
    for damaged in (None, "2/3", {"of": 3}, {**parts.as_json(), "have": 2}, {**parts.as_json(), "of": "x"}):
        assert Parts.of_run({"shards": damaged}) is None


def test_parts_that_are_missing() -> None:
    """One that was to have no trial leaves no run."""
    parts = Parts(4, (2,), (4, 1, 0, 3))
    assert (parts.missing, parts.missing_trials) == ((Shard(1, 4), Shard(4, 4)), 7)
