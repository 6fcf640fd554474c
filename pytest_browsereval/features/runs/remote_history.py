"""The history of runs at a URL, made of the manifests and summaries of what is done there."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs.digest import (
    FILES,
    RunDigest,
    State,
    Summary,
    digest_run,
    read_block,
    read_summary,
)
from pytest_browsereval.features.runs.history import History, mark_runs
from pytest_browsereval.model.display import list_json_parts
from pytest_browsereval.model.remote import PartsThere, RemoteRuns
from pytest_browsereval.run.manifest import RESUMES_FILE
from pytest_browsereval.run_files import open_written, write_whole
from pytest_browsereval.runs.summary_file import SUMMARY, parse_summary

AT_ONCE = 8
"""Runs that are looked at; each of them has several requests under way."""

_DIGESTING = threading.Lock()
"""Of a large run 200 MiB are in memory, and Python computes in one thread at a time anyway."""


class NoRunError(UsageError):
    """There is no run at a URL."""


def read_remote(runs: RemoteRuns) -> History:
    """Return the history of the runs at a URL.

    Args:
        runs: those at the URL.

    Raises:
        NoRunError: there is none.
        UsageError: the store cannot be used.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [one for one in pool.map(lambda name: _look(runs, name), runs.list_runs()) if one is not None]
    if not found:
        raise NoRunError(f"{runs.url} has no run. Give the folder that the runs of all evals are in.")
    shown = mark_runs(sorted(found, key=lambda run: run.order, reverse=True))
    folders = {run.run: run.folders for run in shown}
    return History(
        runs.url,
        shown,
        lambda names: _read_manifests(runs, folders, names),
        lambda names: _read_summaries(runs, folders, names),
    )


def _look(runs: RemoteRuns, run: str) -> RunDigest | None:
    """Return the digest of a run as it is now; None for no run."""
    try:
        there = runs.find_parts(run)
        if not there.of:
            return None
        return _digest(runs, run, there) if there.done else _describe_begun(run, there)
    except UsageError as error:
        return _make(run, state=State.DAMAGED, note=str(error))


def _make(run: str, **values: Any) -> RunDigest:
    given = {"eval": run.partition("/")[0], "started_at": "1970-01-01T00:00:00.000Z"}
    return RunDigest.model_validate({"run": run, **given, **values})


def _describe_begun(run: str, there: PartsThere) -> RunDigest:
    note = "begun and not done: it still runs, or was cut off"
    begun = {"started_at": there.begun_at.replace("+00:00", ".000Z")} if there.begun_at else {}
    return _make(run, state=State.UNFINISHED, note=note, **begun)


def _digest(runs: RemoteRuns, run: str, there: PartsThere) -> RunDigest:
    """Return the digest of a run, all parts that are done together."""
    folders = tuple(there.done[number] for number in sorted(there.done))
    with tempfile.TemporaryDirectory() as name:
        places = [Path(name, str(number)) for number in range(len(folders))]
        for place in places:
            place.mkdir()
        pairs = zip(folders, places, strict=True)
        runs.save({f"{folder}/{file}": place / file for folder, place in pairs for file in FILES})
        with _DIGESTING:
            digest = digest_run(places[0] if there.of == 1 else _join(places, there), run)
    update: dict[str, Any] = {"folders": folders}
    if there.of > 1:
        is_whole = digest.state is State.MERGED
        done = f"{len(there.done)} of {there.of} parts are done"
        if is_whole or len(there.done) < there.of:
            update["note"] = f"made in {len(there.done)} parts" if is_whole else done
        update["parts"] = ()  # none of them is a run of its own here
    return digest.model_copy(update=update)


def _join(parts: Sequence[Path], there: PartsThere) -> Path:
    """Return a folder with manifest and summary of the parts that are done as those of one run.

    Args:
        parts: folders with their files.
        there: which parts they are.
    """
    whole = parts[0].parent
    manifests = [read_block(part / "manifest.json") for part in parts]
    numbers = sorted(there.done)
    shards = manifests[0].get("shards")
    manifest = {**manifests[0], "merged_from": [f"{number}-of-{there.of}" for number in numbers]}
    if isinstance(shards, dict):
        manifest["shards"] = {**shards, "have": numbers}
    if len({str(one.get("git_branch")) for one in manifests}) > 1:
        manifest["git_branch"] = None
    write_whole(whole / "manifest.json", json.dumps(manifest))
    resumes = (part / RESUMES_FILE for part in parts)
    (whole / RESUMES_FILE).write_bytes(b"\n".join(one.read_bytes() for one in resumes if one.exists()))
    try:
        with ExitStack() as stack:  # results go from file to file: those of all parts may fill the memory
            files = [stack.enter_context(open_written(str(part / SUMMARY))) for part in parts]
            figures, results = zip(*(parse_summary(file, lambda one: one) for file in files), strict=True)
            content = {**_join_figures(figures), "results": chain.from_iterable(results)}
            write_whole(whole / SUMMARY, list_json_parts(content))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        (whole / SUMMARY).write_bytes(b"")  # damaged, as one of them is
    return whole


def _join_figures(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    graders: dict[str, list[str]] = {}
    for one in summaries:
        for name, rules in dict(one.get("graders") or {}).items():
            graders[name] = sorted({*graders.get(name, ()), *rules})
    return {
        **summaries[0],
        **{key: sum(int(one.get(key) or 0) for one in summaries) for key in ("selected", "skipped")},
        "graders": graders,
    }


Folders = Mapping[str, Sequence[str]]
"""Where the files of the parts of each run are."""


def _read_manifests(runs: RemoteRuns, folders: Folders, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the manifests of runs; of parts the first one says what all say."""
    return [_load(content) for content in runs.read(f"{folders[run][0]}/manifest.json" for run in names)]


def _read_summaries(runs: RemoteRuns, folders: Folders, names: Sequence[str]) -> Iterator[Summary]:
    """Yield the summaries of runs, those of all parts together; a few at a time are brought."""
    for first in range(0, len(names), AT_ONCE):
        with tempfile.TemporaryDirectory() as name:
            paths = [
                [f"{folder}/{SUMMARY}" for folder in folders[run]] for run in names[first : first + AT_ONCE]
            ]
            places = {path: Path(name, str(number)) for number, path in enumerate(chain.from_iterable(paths))}
            runs.save(places)
            yield from (_join_summaries([read_summary(places[path]) for path in own]) for own in paths)


def _join_summaries(parts: Sequence[Summary]) -> Summary:
    if not all(figures for figures, _ in parts):  # one is damaged
        return {}, []
    return parts[0] if len(parts) == 1 else (parts[0][0], [row for _, rows in parts for row in rows])


def _load(content: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
