"""The parts of a run that ``--eval-shard`` made on several machines: whether all are there, and which not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_browsereval.analysis.parts import name_shards
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.run.selection import count_wanted
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.runs.run import StoredRun


def join_parts(stored: Sequence[StoredRun], target: Path, *, is_partial: bool = False) -> Parts | None:
    """Return which parts a merged run has; None if its runs are not parts.

    Args:
        stored: the runs. Those that do not say which part they are stand for none.
        target: what is to be typed again after ``-o``.
        is_partial: whether parts may be missing.

    Raises:
        UsageError: parts are missing; or they are of runs that were divided otherwise.
    """
    known = {run.folder: parts for run in stored if (parts := Parts.of_run(run.read_manifest())) is not None}
    if not known:
        return None
    _check_division(known)
    have = sorted({number for parts in known.values() for number in parts.have})
    whole = replace(next(iter(known.values())), have=tuple(have))
    if whole.missing and not is_partial:
        raise UsageError(_refusal(whole, stored, target))
    return whole


def _check_division(known: Mapping[Path, Parts]) -> None:
    """Refuse parts of unlike divisions: together they would lack rows, or have some twice."""
    (first, wanted), *others = known.items()
    for root, parts in others:
        # Shards of other divisions overlap or leave gaps between them.
        if (parts.of, parts.by, parts.trials) != (wanted.of, wanted.by, wanted.trials):
            raise UsageError(
                f"{first.name} and {root.name} divide the rows differently: one into "
                f"{_describe(wanted)}, the other into {_describe(parts)}. Run all parts with the same N in "
                "--eval-shard=I/N, and with the same -k, -m and --eval-limit."
            )


def _describe(parts: Parts) -> str:
    counts = ", ".join(map(str, parts.trials))
    return f"{parts.of} parts with {counts} trials" + (f" (division {parts.by})" if parts.by else "")


def _refusal(whole: Parts, stored: Sequence[StoredRun], target: Path) -> str:
    least = whole.count_least(stored[0].read_manifest())
    runs = " ".join(format_path(run.folder) for run in stored)
    return (
        f"missing: {name_shards(whole.missing)} ({least} trials or more). Run what is missing "
        f"(--eval-shard={whole.missing[0]}), or merge what there is as an incomplete run: "
        f"`browsereval merge --partial {runs} -o {target}`"
    )


def count_trials(stored: Sequence[StoredRun], trials: int, parts: Parts | None) -> tuple[int | None, int]:
    """Return how many trials a merged run is to have, and how many of them were skipped.

    Runs of the same part, one that died and the one that was made in its place say, count once. Parts that
    are missing count with what they were to have.

    Args:
        stored: the runs.
        trials: how many trials have a result in any of them.
        parts: which parts the merged run has.
    """
    groups: dict[object, list[StoredRun]] = {}
    for run in stored:
        own = Parts.of_run(run.read_manifest())
        groups.setdefault(run.folder if own is None else own.have, []).append(run)
    skipped = sum(max(run.count_skipped() for run in group) for group in groups.values())
    counts = [_own(run) for run in stored]
    if any(count is None for count in counts):
        return None, skipped
    selected = sum(max(_own(run) or 0 for run in group) for group in groups.values())
    found = sum(len({one.last.key for run in group for one in run.trials}) for group in groups.values())
    missing = parts.count_least(stored[0].read_manifest()) if parts else 0
    return selected - (found - trials) + missing, skipped


def _own(run: StoredRun) -> int | None:
    """Return how many trials a run was to have, without what it lacks of other parts; None if unknown."""
    parts, count = Parts.of_run(run.read_manifest()), run.count_selected()
    count = count_wanted(run) if count is None else count
    if parts is None or count is None or "merged_from" not in run.read_manifest():
        return count
    return count - parts.count_least(run.read_manifest())  # of parts that were missing when it was merged
