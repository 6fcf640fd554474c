"""A run in several parts: which rows each of them has, the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Self

from pytest_browsereval.errors import UsageError


@dataclass(frozen=True)
class Shard:
    """One of several parts of a run."""

    number: int
    """From 1."""
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


HASH = "hash"
"""How rows are divided where nobody knows how long they take."""


@dataclass(frozen=True)
class Parts:
    """Which parts of a run are in its folder, as the manifest tells it: of a merged one there are several."""

    of: int
    have: tuple[int, ...]
    trials: tuple[int, ...]
    """How many trials were to be in each part, also in those of other machines."""
    by: str = HASH
    """How the rows were divided: by their hash; else 16 hex digits over which row is in which part."""

    @classmethod
    def of_run(cls, manifest: Mapping[str, Any]) -> Self | None:
        """Return what a manifest tells; None if that is nothing: a run is no part as a rule."""
        shards = manifest.get("shards", {})
        try:
            have, trials = (tuple(int(number) for number in shards[key]) for key in ("have", "trials"))
            return cls(int(shards["of"]), have, trials, str(shards["by"]))
        except (KeyError, TypeError, ValueError):
            return None

    def as_json(self) -> dict[str, Any]:
        """Return what a manifest tells under ``shards``."""
        return asdict(self)

    @property
    def missing(self) -> tuple[Shard, ...]:
        """The parts that are not there; one that was to have no trial leaves no run and lacks nothing."""
        return tuple(
            Shard(number, self.of)
            for number, trials in enumerate(self.trials, 1)
            if trials and number not in self.have
        )

    @property
    def missing_trials(self) -> int:
        """How many trials were to be in those."""
        return sum(self.trials[shard.number - 1] for shard in self.missing)


def division_of(shards: Mapping[str, int]) -> str:
    """Return 16 hex digits over which row is in which part: two machines must agree on it.

    Args:
        shards: the part of each row, by its id.
    """
    lines = "".join(f"{query_id}\0{shard}\n" for query_id, shard in sorted(shards.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def read_shard(text: str) -> Shard:
    """Return the shard of ``2/4``.

    Raises:
        UsageError: it is none.
    """
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal()):
        raise UsageError(
            f"--eval-shard={text} is no part of a run. Write  --eval-shard=1/4  for the first of four."
        )
    number, of = int(first), int(second)
    if not 1 <= number <= of:
        raise UsageError(
            f"--eval-shard={text}: parts are numbered from 1 to {of}. Write one of them before the /."
        )
    return Shard(number, of)


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
