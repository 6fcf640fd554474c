from __future__ import annotations

from collections import Counter

from pytest_browsereval.features.shard.hooks import shards_of

IDS = [[f"row-{n}"] for n in range(200)]


def test_every_group_is_in_one_shard() -> None:
    """Shards are even in number, in whatever order the rows stand: 4 rows in 2 shards are 2 and 2."""
    assert sorted(Counter(shards_of(IDS, 7)).values()) == [28, 28, 28, 29, 29, 29, 29]
    assert shards_of(IDS[::-1], 7) == shards_of(IDS, 7)[::-1]
    assert shards_of(IDS, 1) == [1] * len(IDS)
    assert sorted(shards_of(IDS[:4], 2)) == [1, 1, 2, 2]


def test_rows_that_belong_together_count_with_their_number() -> None:
    """Three rows in one shard stand against three that are by themselves."""
    assert shards_of([["a"], ["b"], ["d", "e", "f"], ["c"]], 2) == [2, 2, 1, 2]
