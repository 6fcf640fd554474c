"""A run in several parts: what its manifest says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True)
class Parts:
    """Which parts of a run are in its folder, as the manifest tells it: of a merged one there are several."""

    of: int
    have: tuple[int, ...]
    trials: tuple[int, ...]
    """How many trials were to be in each part, also in those of other machines."""
    by: str = ""
    """How the rows were divided: 16 hex digits over which row is in which part."""

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
        """How many trials were to be in those; of a run in rounds at most."""
        return sum(self.trials[shard.number - 1] for shard in self.missing)

    def count_least(self, manifest: Mapping[str, Any]) -> int:
        """Return how many trials were to be in those at least: their rounds are not known."""
        try:
            rounds = manifest["config"]["trials"]
            return self.missing_trials // int(rounds["max"]) * int(rounds["min"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError):  # a number of trials
            return self.missing_trials


def read_shard(text: str) -> Shard:
    """Return the shard of ``2/4``.

    Raises:
        UsageError: it is none.
    """
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
        raise UsageError(
            f"--eval-shard={text} is not a part of a run. Parts are numbered from 1 on. Write "
            "`--eval-shard=1/4` for the first of four, `--eval-shard=4/4` for the last."
        )
    return Shard(int(first), int(second))
