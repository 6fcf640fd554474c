"""Several runs of one eval as one: shards that were run on several machines."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.evidence import check_run, describe_contradictions
from pytest_browsereval.config_text import format_path
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.merge.parts import count_trials, join_parts
from pytest_browsereval.features.shared.new_run import make_run
from pytest_browsereval.features.shared.provenance import differences
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.budget import LEDGER
from pytest_browsereval.run.locks import RunLocks
from pytest_browsereval.run.manifest import MACHINE, RESUMES_FILE
from pytest_browsereval.run.selection import REGRADED_FILE, SELECTED_FILE, list_damaged, read_selected
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import RunStore, check_new
from pytest_browsereval.run_files import load_written
from pytest_browsereval.runs.attempt import find_trial
from pytest_browsereval.runs.deaths import DEATHS
from pytest_browsereval.runs.lines import ATTEMPTS, list_kept
from pytest_browsereval.runs.rewritten import describe_foreign_records
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

# Trials and differences in a message; the rest is counted.
MOST_LISTED = 5

# Files with one record in each line: those of all runs are joined, labels that people gave among them.
LINES = (LEDGER, RESUMES_FILE, REGRADED_FILE, DEATHS, "labels.jsonl", "probes.jsonl")


@dataclass(frozen=True)
class Merged:
    """What a merge has made."""

    trials: int
    selected: int | None
    """How many there were to be in all; None if a run does not say."""
    notes: tuple[str, ...]
    """Differences that are allowed: machines, browsers."""


def merge_runs(
    runs: Sequence[Path], target: Path, *, is_partial: bool = False, door: Door | None = None
) -> Merged:
    """Write several runs as one run folder, as a whole or not at all; the runs stay as they are.

    Args:
        runs: their folders.
        target: the new one.
        is_partial: whether parts of a run that was divided may be missing.
        door: asks plug-ins for figures of the merged run.

    Raises:
        UsageError: a run cannot be read or is still written; the runs are not of one eval; parts are missing;
            a trial has other results in one than in another; or the target cannot be written.
    """
    stored = [StoredRun(run) for run in runs]
    check_new(target)
    _check_runs(stored)
    notes = (*_check_alike(stored), *_list_regraded(stored))
    parts = join_parts(stored, target, is_partial=is_partial)
    owners = _owners(stored)
    try:
        with make_run(target) as made:
            merged, selected = _write(stored, owners, made, parts, door)
    except (OSError, shutil.Error) as error:
        raise UsageError(f"{target} cannot be written: {error}.") from None
    return Merged(len(merged.trials), selected, notes)


def _list_regraded(stored: Sequence[StoredRun]) -> Iterator[str]:
    """Yield which runs have verdicts of a later grading while others have none: their graders may differ."""
    again = [run for run in stored if any(one.last.regraded_at for one in run.trials)]
    if 0 < len(again) < len(stored):
        names = ", ".join(run.folder.name for run in again)
        yield f"attempts of {names} were graded again, and those of the other runs were not"


def _check_runs(stored: Sequence[StoredRun]) -> None:
    if len(stored) < 2 and not any(_is_only_part(run) for run in stored):
        raise UsageError("one run cannot be merged alone. Name two or more.")
    seen: set[Path] = set()
    for run in stored:
        check_run(run)
        if run.folder.resolve() in seen:
            raise UsageError(f"{format_path(run.folder)} is named twice. Name each run once.")
        seen.add(run.folder.resolve())
        # A running process may still add results.
        RunLocks(run.folder).check_idle()
        _check_records(run)


def _is_only_part(run: StoredRun) -> bool:
    """Whether a run is the one shard that has rows: with few of them the hash may put all into it."""
    parts = Parts.of_run(run.read_manifest())
    return parts is not None and len(parts.have) == 1 and not parts.missing


def _check_records(run: StoredRun) -> None:
    """Refuse a run whose damage the merged one would not show."""
    if damaged := list_damaged(run, read_selected(run)):
        raise UsageError(f"{format_path(run.folder / damaged[0])} is damaged or empty. Restore it.")
    if kept := list_kept(run.folder, {trial.last.place.rpartition("/")[0] for trial in run.trials}):
        raise UsageError(f"{format_path(run.folder)}: {describe_foreign_records(kept)}.")
    if contradictions := describe_contradictions(run):
        raise UsageError(f"{format_path(run.folder)}: {contradictions}.")


def _check_alike(stored: Sequence[StoredRun]) -> Iterator[str]:
    """Yield what may differ; refuse what may not.

    Raises:
        UsageError: config, datasets or tools differ.
    """
    first, *others = stored
    manifest = first.read_manifest()
    for other in others:
        drift = list(differences(manifest, other.read_manifest(), besides=MACHINE).values())
        if drift:
            shown = "".join(f"\n  {line}" for line in drift[: 4 * MOST_LISTED])
            raise UsageError(
                f"{first.folder.name} and {other.folder.name} are not parts of one run: they were made "
                f"differently:{shown}\nCompare them: `browsereval compare {format_path(first.folder)} "
                f"{format_path(other.folder)}`"
            )
        here, there = ({key: one.get(key) for key in MACHINE} for one in (manifest, other.read_manifest()))
        yield from (
            f"{first.folder.name} -> {other.folder.name}: {line}"
            for line in differences(here, there).values()
        )


def _owners(stored: Sequence[StoredRun]) -> dict[TrialKey, tuple[StoredRun, StoredTrial]]:
    """Return the run that each trial is taken from.

    Raises:
        UsageError: a trial is in two runs with other results; or a file is damaged.
    """
    owners: dict[TrialKey, tuple[StoredRun, StoredTrial]] = {}
    clashing: list[str] = []
    for run in stored:
        for trial in run.trials:
            key = trial.last.key
            owner, own = owners.setdefault(key, (run, trial))
            if own.last.line.hash != trial.last.line.hash:
                clashing.append(f"{key.query_id} ({owner.folder.name}, {run.folder.name})")
    if clashing:
        raise UsageError(
            f"{format_count(len(clashing), 'trial')} with different results in two runs: "
            f"{join_first(clashing, MOST_LISTED)}. Parts of one run share no row; take one of the runs out."
        )
    return owners


def _write(
    stored: Sequence[StoredRun],
    owners: Mapping[TrialKey, tuple[StoredRun, StoredTrial]],
    target: RunStore,
    parts: Parts | None,
    door: Door | None,
) -> tuple[StoredRun, int | None]:
    """Write the merged run; returns it, and how many trials it is to have."""
    for key, (run, trial) in owners.items():
        # A link is copied as one: to follow it would read files outside the run.
        if (folder := run.folder / find_trial(trial.last)).is_dir():
            shutil.copytree(folder, target.trial_folder(key), symlinks=True)
    (target.root / ATTEMPTS).mkdir()
    history = (line for run, trial in owners.values() for line in run.list_history(trial))
    (target.root / ATTEMPTS / "merged.jsonl").write_bytes(b"".join(line + b"\n" for line in history))
    selected, skipped = count_trials(stored, len(owners), parts)
    first = stored[0].read_manifest()
    first.pop("config_folder", None)  # as seen from that run, on that machine
    if any(run.read_manifest().get("git_branch") != first.get("git_branch") for run in stored):
        first["git_branch"] = None
    manifest = {
        **first,
        "selected": selected,
        "merged_from": [run.name for run in stored],
        "merged_at": now(),
    }
    target.write_manifest(manifest if parts is None else {**manifest, "shards": parts.as_json()})
    with_selection = all(read_selected(run) for run in stored)  # else it would be that of a part only
    for name in (*LINES, SELECTED_FILE) if with_selection else LINES:
        lines = [line for run in stored for line in _lines(run.folder / name)]
        if lines:
            (target.root / name).write_bytes(b"".join(lines))
    merged = StoredRun(target.root, door)
    counted = {"selected": selected, "skipped": skipped, **_find_all(stored[0])}
    target.write_summary({**counted, **(door.sum_up_run(merged) if door else {}), **merged.summary.as_json()})
    return merged, selected


def _find_all(run: StoredRun) -> dict[str, Any]:
    """Return how many trials the config has, whichever were selected: the same in each part."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return {"all_trials": load_written(run.folder / "summary.json")["all_trials"]}
    return {}


def _lines(file: Path) -> list[bytes]:
    """Return the lines of a file, each with its end, also where a crash has cut it off."""
    lines = file.read_bytes().split(b"\n") if file.is_file() else []
    return [line + b"\n" for line in lines if line.strip()]
