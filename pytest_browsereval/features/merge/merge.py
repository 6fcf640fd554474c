"""Several runs of one eval as one: shards that were run on several machines."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.evidence import describe_contradictions
from pytest_browsereval.analysis.summary import RunSummary, summary_of
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.merge.parts import count_trials, describe_shared_parts, join_parts
from pytest_browsereval.features.new_run import make_run
from pytest_browsereval.features.outcomes import check_run
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.messages import now
from pytest_browsereval.run.budget import LEDGER
from pytest_browsereval.run.deaths import DEATHS
from pytest_browsereval.run.manifest import MACHINE, RESUMES_FILE
from pytest_browsereval.run.provenance import differences
from pytest_browsereval.run.selection import (
    REGRADED_FILE,
    SELECTED_FILE,
    list_damaged,
    read_selected,
)
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import RunStore, TrialKey, check_new
from pytest_browsereval.run_files import load_written
from pytest_browsereval.runs.foreign import describe_foreign_records
from pytest_browsereval.runs.lines import ATTEMPTS, list_kept

# Trials and differences in a message; the rest is counted.
MOST_LISTED = 5

# Files with one record in each line: those of all runs are joined.
LINES = (LEDGER, RESUMES_FILE, REGRADED_FILE, DEATHS)

# What people say of attempts: `browsereval label` writes it, and `calibrate` reads it.
LABELS_FILE = "labels.jsonl"


@dataclass(frozen=True)
class Merged:
    """What a merge has made."""

    trials: int
    selected: int | None
    """How many there were to be in all; None if a run does not say."""
    notes: tuple[str, ...]
    """Differences that are allowed: machines, browsers."""


def merge_runs(
    runs: Sequence[Path],
    target: Path,
    *,
    is_partial: bool = False,
    sum_up: Callable[[Path, RunSummary], Mapping[str, Any]] = lambda _folder, _summary: {},
) -> Merged:
    """Write several runs as one run folder, as a whole or not at all; the runs stay as they are.

    Args:
        runs: their folders.
        target: the new one.
        is_partial: whether parts of a run that was divided may be missing.
        sum_up: returns the figures that plug-ins add to those of the merged run.

    Raises:
        UsageError: a run cannot be read or is still written; the runs are not of one eval; parts are missing;
            a trial has other results in one than in another; or the target cannot be written.
    """
    stores = [RunStore(run) for run in runs]
    check_new(target)
    _check_runs(stores)
    notes = (*_check_alike(stores), *_list_regraded(stores))
    parts = join_parts(stores, target, is_partial=is_partial)
    owners = _owners(stores)
    try:
        with make_run(target) as made:
            merged = _write(stores, owners, made, (notes, parts), sum_up)
            _write_labels(stores, made.root, target.resolve().name)
    except (OSError, shutil.Error) as error:
        raise UsageError(f"{target} cannot be written: {error}.") from None
    return merged


def _list_regraded(stores: Sequence[RunStore]) -> Iterator[str]:
    """Yield which runs have verdicts of a later grading while others have none: their graders may differ."""
    again = [store for store in stores if any(data.regraded_at for _, data in store.last_digests())]
    if 0 < len(again) < len(stores):
        names = ", ".join(store.root.name for store in again)
        yield f"attempts of {names} were graded again, and those of the other runs were not"


def _check_runs(stores: Sequence[RunStore]) -> None:
    if len(stores) < 2 and not any(_is_only_part(store) for store in stores):
        raise UsageError("one run is merged with nothing. Name two or more.")
    seen: set[Path] = set()
    for store in stores:
        check_run(store.root)
        if store.root.resolve() in seen:
            raise UsageError(f"{store.root} is named twice. Name each run once.")
        seen.add(store.root.resolve())
        # A running process may still add results.
        store.locks.check_idle()
        _check_records(store)


def _is_only_part(store: RunStore) -> bool:
    """Whether a run is the one shard that has rows: with few of them the hash may put all into it."""
    parts = Parts.of_run(store.manifest())
    return parts is not None and len(parts.have) == 1 and not parts.missing


def _check_records(store: RunStore) -> None:
    """Refuse a run whose damage the merged one would not show."""
    if damaged := list_damaged(store, read_selected(store)):
        raise UsageError(f"{format_path(store.root / damaged[0])} is damaged or empty. Restore it.")
    summary = summary_of(store)
    if kept := list_kept(store.root, {trial.place.rpartition("/")[0] for trial in summary.trials}):
        raise UsageError(f"{format_path(store.root)}: {describe_foreign_records(kept)}.")
    if contradictions := describe_contradictions(store, summary):
        raise UsageError(f"{format_path(store.root)}: {contradictions}.")


def _check_alike(stores: Sequence[RunStore]) -> Iterator[str]:
    """Yield what may differ; refuse what may not.

    Raises:
        UsageError: config, datasets or tools differ.
    """
    first, *others = stores
    manifest = first.manifest()
    for other in others:
        drift = differences(manifest, other.manifest(), besides=MACHINE)
        if drift:
            shown = "".join(f"\n  {line}" for line in drift[: 4 * MOST_LISTED])
            raise UsageError(
                f"{first.root.name} and {other.root.name} are not parts of one run: they were made of "
                f"something else:{shown}\nCompare them: `browsereval compare {first.root} {other.root}`"
            )
        here, there = ({key: one.get(key) for key in MACHINE} for one in (manifest, other.manifest()))
        yield from (f"{first.root.name} -> {other.root.name}: {line}" for line in differences(here, there))


def _owners(stores: Sequence[RunStore]) -> dict[TrialKey, RunStore]:
    """Return the run that each trial is taken from.

    Raises:
        UsageError: a trial is in two runs with other results; or a file is damaged.
    """
    owners: dict[TrialKey, RunStore] = {}
    results: dict[TrialKey, str] = {}
    clashing: list[str] = []
    for store in stores:
        for _, data in store.last_digests():
            key, result = TrialKey.of(data), data.line.hash if data.line else ""
            if key not in owners:
                owners[key], results[key] = store, result
            elif results[key] != result:
                clashing.append(f"{key.query_id} ({owners[key].root.name}, {store.root.name})")
    if clashing:
        raise UsageError(
            f"{len(clashing)} trials have other results in one run than in another: "
            f"{join_first(clashing, MOST_LISTED)}. Parts of one run share no row; take one of the runs out."
            f"{describe_shared_parts(stores)}"
        )
    return owners


def _write(
    stores: Sequence[RunStore],
    owners: Mapping[TrialKey, RunStore],
    target: RunStore,
    found: tuple[tuple[str, ...], Parts | None],
    sum_up: Callable[[Path, RunSummary], Mapping[str, Any]],
) -> Merged:
    notes, parts = found
    for key, store in owners.items():
        # A link is copied as one: to follow it would read files outside the run.
        if store.trial_folder(key).is_dir():
            shutil.copytree(store.trial_folder(key), target.trial_folder(key), symlinks=True)
    (target.root / ATTEMPTS).mkdir()
    history = (line for key, store in owners.items() for line in store.list_history(key))
    (target.root / ATTEMPTS / "merged.jsonl").write_bytes(b"".join(line + b"\n" for line in history))
    selected, skipped = count_trials(stores, len(owners), parts)
    first = stores[0].manifest()
    first.pop("config_folder", None)  # as seen from that run, on that machine
    if any(store.manifest().get("git_branch") != first.get("git_branch") for store in stores):
        first["git_branch"] = None
    manifest = {
        **first,
        "selected": selected,
        "merged_from": [store.root.resolve().name for store in stores],
        "merged_at": now(),
    }
    target.write_manifest(manifest if parts is None else {**manifest, "shards": parts.as_json()})
    with_selection = all(read_selected(store) for store in stores)  # else it would be that of a part only
    for name in (*LINES, SELECTED_FILE) if with_selection else LINES:
        lines = [line for store in stores for line in _lines(store.root / name)]
        if lines:
            (target.root / name).write_bytes(b"".join(lines))
    summary = summary_of(target)
    counted = {"selected": selected, "skipped": skipped, **_find_all(stores[0])}
    target.write_summary({**counted, **sum_up(target.root, summary), **summary.as_json()})
    return Merged(len(summary.trials), selected, notes)


def _find_all(store: RunStore) -> dict[str, Any]:
    """Return how many trials the config has, whichever were selected: the same in each part."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return {"all_trials": load_written(store.root / "summary.json")["all_trials"]}
    return {}


def _write_labels(stores: Sequence[RunStore], folder: Path, name: str) -> None:
    """Write the labels of all runs; those that name one of them are about the merged run from now on."""
    runs = {store.root.resolve().name for store in stores}
    lines = [_rename_run(line, runs, name) for store in stores for line in _lines(store.root / LABELS_FILE)]
    if lines:
        (folder / LABELS_FILE).write_bytes(b"".join(lines))


def _rename_run(line: bytes, runs: Collection[str], run: str) -> bytes:
    """Return a line of a file of labels, about another run if it is about one of some; else as it is.

    Args:
        line: with its end; a damaged one stays as it is, for its reader to report.
        runs: the names of their folders.
        run: that of the other one.
    """
    try:
        value = json.loads(line)
    except ValueError:
        return line
    if not isinstance(value, dict) or value.get("run") not in runs:
        return line
    return json.dumps({**value, "run": run}, ensure_ascii=False).encode() + b"\n"


def _lines(file: Path) -> list[bytes]:
    """Return the lines of a file, each with its end, also where a crash has cut it off."""
    lines = file.read_bytes().split(b"\n") if file.is_file() else []
    return [line + b"\n" for line in lines if line.strip()]
