"""A part of a run is resumed as that part."""

from __future__ import annotations

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.resume.trials import check_resumed
from pytest_browsereval.run.shards import Parts


def test_a_part_is_resumed_as_that_part() -> None:
    """A whole run and a merged one are resumed as one likes."""
    part = {"shards": Parts(3, (2,), (1, 1, 1)).as_json()}
    check_resumed("run", part, "2/3")
    for manifest in ({}, {**part, "merged_from": ["x"]}):
        for given in (None, "1/3"):
            check_resumed("run", manifest, given)
    for given, told in (
        (None, "is part 2/3, and this session would run all rows. Resume it with --eval-shard=2/3"),
        ("3/3", "is part 2/3, and this session is --eval-shard=3/3"),
        ("2/4", "this session is --eval-shard=2/4"),
    ):
        with pytest.raises(UsageError, match=told):
            check_resumed("run", part, given)
