"""Where the line of a variant's pass rates breaks, and what has changed there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_browsereval.features.runs.digest import RunDigest, State, VariantDigest
from pytest_browsereval.features.runs.provenance import WORDS


@dataclass(frozen=True)
class Break:
    """Why a run of a variant cannot be compared with the one before in the line."""

    before: str
    """The run before, as the history calls it."""
    words: Sequence[str]
    """What has changed: agent, judge, browser, config, dataset."""


Breaks = Mapping[tuple[str, str], Break]
"""By the run that a break stands before, and its variant."""

Point = tuple[RunDigest, VariantDigest]


def find_points(runs: Sequence[RunDigest]) -> dict[tuple[str, str], list[Point]]:
    """Return the line of each eval and variant, the oldest first: complete runs with a rate."""
    found: dict[tuple[str, str], list[Point]] = {}
    for run in sorted(runs, key=lambda run: run.order):
        for variant in run.variants if run.state is State.COMPLETE else ():
            if variant.figures.rate is not None:
                found.setdefault((run.eval, variant.name), []).append((run, variant))
    return found


def find_breaks(runs: Sequence[RunDigest]) -> Breaks:
    """Return where the lines of runs break."""
    found = {}
    for points in find_points(runs).values():
        for before, after in pairwise(points):
            if words := list(dict.fromkeys(_list_words(before, after))):
                found[after[0].run, after[1].name] = Break(before[0].run, words)
    return found


def _list_words(before: Point, after: Point) -> Iterator[str]:
    (run, old), (next_run, new) = before, after
    if not (old.made_of and new.made_of):  # a manifest is missing or damaged
        yield "config"
    else:
        yield from (word for word in WORDS if old.made_of[word] != new.made_of[word])
    # A grader that is in one run only, or has fewer rules there, was not asked: rows errored, say.
    for name in run.graders.keys() & next_run.graders.keys():
        first, second = _align(run.graders[name], next_run.graders[name])
        if not (first <= second or second <= first):
            yield "judge"
    if old.rows != new.rows:
        yield "dataset"


def _align(old: Sequence[str], new: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the rules of two runs; without options if a run has too many of them to list."""
    if any(one.endswith("/*") for one in (*old, *new)):
        old, new = ([f"{one.rpartition('/')[0]}/*" for one in rules] for rules in (old, new))
    return set(old), set(new)
