"""Where the line of a variant's pass rates breaks, and what has changed there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_browsereval.features.runs.digest import RunDigest, RunFiles, State, VariantDigest
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
    found = {}
    for (_, name), points in find_points(history.runs).items():
        for (run, before), (next_run, after) in pairwise(points):
            changes = dict(_changed_judges(run, next_run))
            files = [history.files[one.run] for one in (run, next_run)]
            if not before.provenance or before.provenance != after.provenance:
                for word, lines in _changes(before, after, files):
                    changes.setdefault(word, []).extend(lines)
            if before.rows != after.rows:
                old, new = (_read_rows(one, name) for one in files)
                changes.setdefault(DATASET, []).extend(_row_changes(old, new))
            if changes:
                found[next_run.run, name] = Break(run.run, changes)
    return found


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


def _read_rows(files: RunFiles, variant: str) -> _Rows:
    rows = (row for row in files.find_rows()[1] if row.variant == variant and not row.is_derived)
    return {row.query_id: row.row_hash for row in rows}


def _changes(
    a: VariantDigest, b: VariantDigest, files: Iterable[RunFiles]
) -> Iterator[tuple[str, list[str]]]:
    """Yield what has changed but for the rows, by the manifests of two runs."""
    if not (a.provenance and b.provenance):
        why = "what one of the two runs was made of is unknown: its manifest is missing or damaged"
        yield "config", [why]
        return
    # A run of an older version may hold what is known as a secret today.
    before, after = (find_provenance(redact_config(one.read_manifest()[0]), a.name) for one in files)
    for word, lines in describe_changes(before, after).items():
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
    for kind, names in kinds.items():
        if names:
            shown = join_first([one_line(name, 40) for name in names], MOST_NAMES)
            yield f"{format_count(len(names), 'task')} {kind}: {shown}"
    if not any(kinds.values()):
        yield "the file of the rows has changed; which rows is unknown"
