"""Where the line of a variant's pass rates breaks, and what has changed there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

from pytest_browsereval.features.runs.digest import RunDigest, State, VariantDigest
from pytest_browsereval.features.runs.history import History
from pytest_browsereval.features.runs.provenance import describe_changes, find_provenance
from pytest_browsereval.model.display import format_count, join_first, one_line
from pytest_browsereval.redaction.config import redact_config

LONGEST = 200
"""Characters of a line."""

MOST_LINES = 8
"""About one change; the rest is counted."""

MOST_NAMES = 3
"""Tasks that a line names."""

DATASET = "dataset"
JUDGE = "judge"


@dataclass(frozen=True)
class Break:
    """Why a run of a variant cannot be compared with the one before in the line."""

    before: str
    """The run before, as the history calls it."""
    changes: Mapping[str, Sequence[str]]
    """What has changed, by what it is about (agent, dataset, judge, browser, config): lines for values."""


def find_points(runs: Sequence[RunDigest]) -> dict[tuple[str, str], list[tuple[RunDigest, VariantDigest]]]:
    """Return the line of each eval and variant, the oldest first: complete runs with a rate."""
    found: dict[tuple[str, str], list[tuple[RunDigest, VariantDigest]]] = {}
    for run in sorted(runs, key=lambda run: run.order):
        for variant in run.variants if run.state is State.COMPLETE else ():
            if variant.rate is not None:
                found.setdefault((run.eval, variant.name), []).append((run, variant))
    return found


def find_breaks(history: History) -> dict[tuple[str, str], Break]:
    """Return the breaks by the run that each stands before and its variant.

    Files are read of runs at a break only.
    """
    read = lru_cache(maxsize=16)(partial(_read_manifest, history))  # neighbours are asked for again
    read_rows = lru_cache(maxsize=2)(partial(_read_rows, history))  # of a large run 50 MiB
    found = {}
    for (_, name), points in find_points(history.runs).items():
        for (run, before), (next_run, after) in pairwise(points):
            changes = dict(_changed_judges(run, next_run))
            if not _is_alike(before, after):
                names = run.run, next_run.run
                for word, lines in _changes(before, after, *map(read, names)):
                    changes.setdefault(word, []).extend(lines)
                if before.rows != after.rows:
                    rows = (read_rows(one).get(name, {}) for one in names)
                    changes.setdefault(DATASET, []).extend(_row_changes(*rows))
            if changes:
                found[next_run.run, name] = Break(run.run, changes)
    return found


def _is_alike(a: VariantDigest, b: VariantDigest) -> bool:
    return bool(a.provenance) and (a.provenance, a.rows) == (b.provenance, b.rows)


def _changed_judges(a: RunDigest, b: RunDigest) -> Iterator[tuple[str, list[str]]]:
    """Yield the graders whose rules have changed.

    One that is in one run only, or has fewer rules there, was not asked: rows errored, or others were run.
    """
    lines = []
    for name in sorted(a.graders.keys() & b.graders.keys()):
        old, new = _align(a.graders[name], b.graders[name])
        if not (old <= new or new <= old):
            lines.append(f"grader {name}: {' and '.join(sorted(old))} -> {' and '.join(sorted(new))}")
    if lines:
        yield JUDGE, list(_shorten(lines))


def _align(old: Sequence[str], new: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the rules of two runs; without options if a run has too many of them to list."""
    if any(one.endswith("/*") for one in (*old, *new)):
        old, new = ([f"{one.rpartition('/')[0]}/*" for one in rules] for rules in (old, new))
    return set(old), set(new)


_Rows = Mapping[str, str]
"""The hashes of rows as they were, by their ids."""


def _read_manifest(history: History, run: str) -> Mapping[str, Any]:
    # A run of an older version may hold what is known as a secret today.
    manifest: Mapping[str, Any] = redact_config(history.files[run].read_manifest()[0])
    return manifest


def _read_rows(history: History, run: str) -> Mapping[str, _Rows]:
    """Return the rows of a run, by its variants."""
    found: dict[str, dict[str, str]] = {}
    for row in history.files[run].find_rows()[1]:
        if not row.is_derived:
            found.setdefault(row.variant, {})[row.query_id] = row.row_hash
    return found


def _changes(
    a: VariantDigest, b: VariantDigest, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, list[str]]]:
    """Yield what has changed but for the rows, by the manifests of two runs."""
    if not (a.provenance and b.provenance):
        yield (
            "config",
            ["what one of the two runs was made of is unknown: its manifest is missing or damaged"],
        )
    elif a.provenance != b.provenance:
        made = [find_provenance(one, a.name) for one in (before, after)]
        for word, lines in describe_changes(made[0], made[1]).items():
            yield word, list(_shorten(lines))


def _shorten(lines: Sequence[str]) -> Iterator[str]:
    yield from (one_line(line, LONGEST) for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"and {len(lines) - MOST_LINES} more"


def _row_changes(old: _Rows, new: _Rows) -> Iterator[str]:
    edited = [name for name in new if name in old and old[name] != new[name]]
    kinds = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "edited": edited if all(new.values()) and all(old.values()) else [],
    }
    told = False
    for kind, names in kinds.items():
        if names:
            told = True
            shown = join_first([one_line(name, 40) for name in names], MOST_NAMES)
            yield f"{format_count(len(names), 'task')} {kind}: {shown}"
    if not told:
        yield "the file of the rows has changed; which rows is unknown"
