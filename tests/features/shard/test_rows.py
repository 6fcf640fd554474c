from __future__ import annotations

from pytest_browsereval.features.shard.hooks import division_of, shards_of

IDS = [[f"row-{n}"] for n in range(200)]


def test_every_group_is_in_one_shard_whatever_else_there_is() -> None:
    """Rows that are added or taken out move no other, nor does their order."""
    whole = dict(zip((ids[0] for ids in IDS), shards_of(IDS, 4), strict=True))
    assert set(whole.values()) == {1, 2, 3, 4}
    some = IDS[::-3]
    assert shards_of(some, 4) == [whole[ids[0]] for ids in some]
    assert shards_of(IDS, 1) == [1] * len(IDS)


def test_shards_are_those_of_every_version() -> None:
    """The same on every machine and tomorrow: shards of an earlier version can still be merged."""
    assert shards_of([["a"], ["b"], ["c"], ["d", "a2"], ["ü"]], 3) == EXPECTED


EXPECTED = [2, 2, 3, 2, 3]


def test_rows_that_belong_together_go_by_the_first_of_them() -> None:
    """In whatever order they stand."""
    assert shards_of([["b", "a"]], 7) == shards_of([["a", "c"]], 7) == shards_of([["a"]], 7)


def test_shards_take_about_the_same_time() -> None:
    """One long row has a shard to itself; rows that nobody has timed count as the mean."""
    seconds = {"long": 100.0, **{f"short-{n}": 10.0 for n in range(20)}}
    groups = [[name] for name in seconds]
    found = shards_of(groups, 3, seconds)
    loads = [
        sum(seconds[g[0]] for g, s in zip(groups, found, strict=True) if s == shard) for shard in (1, 2, 3)
    ]
    assert sorted(loads) == [100.0, 100.0, 100.0]
    assert sorted(shards_of([["new"], ["newer"]], 2, seconds)) == [1, 2]
    assert shards_of(groups[::-1], 3, seconds) == found[::-1]


def test_a_division_is_told_by_its_rows() -> None:
    """Whatever the order in which they are found."""
    assert division_of({"a": 1, "b": 2}) == division_of({"b": 2, "a": 1}) != division_of({"a": 2, "b": 2})
