"""Which rows each part of a run has, the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from statistics import fmean


def division_of(shards: Mapping[str, int]) -> str:
    """Return 16 hex digits over which row is in which part: two machines must agree on it.

    Args:
        shards: the part of each row, by its id.
    """
    lines = "".join(f"{query_id}\0{shard}\n" for query_id, shard in sorted(shards.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def shards_of(
    groups: Sequence[Sequence[str]], of: int, seconds: Mapping[str, float] | None = None
) -> list[int]:
    """Return the number of the shard of each group of rows that belong together, from 1.

    Without durations by a hash of the group's first id in the alphabet: a row that is added or taken out
    moves no other. With them the longest group goes first, each to the shard that has least so far (Graham
    1969), so that shards take about the same time; rows without a duration count as the mean.

    Args:
        groups: ids of rows; no id is in two of them.
        of: how many shards there are.
        seconds: how long each row took earlier, by id.
    """
    if not seconds:
        return [1 + _hash(min(group)) % of for group in groups]
    mean = fmean(seconds.values())
    times = [sum(seconds.get(query_id, mean) for query_id in group) for group in groups]
    found, loads = [0] * len(groups), [0.0] * of
    for place in sorted(range(len(groups)), key=lambda place: (-times[place], min(groups[place]))):
        least = min(range(of), key=lambda shard: (loads[shard], shard))
        found[place], loads[least] = least + 1, loads[least] + times[place]
    return found


def _hash(query_id: str) -> int:
    return int.from_bytes(hashlib.sha256(query_id.encode()).digest()[:8])
