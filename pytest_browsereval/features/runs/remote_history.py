"""The history of runs at a URL: an object for each run, made when all of it is done.

    .record/EVAL/NAME/part-3-of-8            says that a part is done
    .record/EVAL/NAME/8-of-8.4f1c0a9b.json   a run: how many of its parts are done, and which tries of them
    .record/lines-93d0a4c2.jsonl             many of these, to be read at once

Nothing is appended to, so that parts that end at once lose nothing of each other's. All of it is derived:
whoever reads it lists the runs as well, and makes what is missing from their summaries.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    read_digest,
    read_summary,
)
from pytest_browsereval.features.runs.history import History, mark_runs
from pytest_browsereval.model.display import list_json_parts
from pytest_browsereval.model.remote import PartsThere, RemoteRuns
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.manifest import RESUMES_FILE
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run_files import open_written, write_whole
from pytest_browsereval.runs.summary_file import SUMMARY, parse_summary

RECORD = ".record"
"""Below the URL. No eval has such a name."""

LINES = "lines-"

WORTH_JOINING = 50
"""Objects that a reader has read one by one, from which on it joins them."""

MOST_BY_A_PART = 20_000
"""Trials of a run whose line its last part makes; a larger one is left to a reader, who has the memory."""

AT_ONCE = 8
"""Runs that are looked at; each of them has several requests under way."""

_DIGESTING = threading.Lock()
"""Of a large run 200 MiB are in memory, and Python computes in one thread at a time anyway."""

_LINE = re.compile(rf"{RECORD}/(?P<run>[^/]+/[^/]+)/(?P<have>\d+)-of-(?P<of>\d+)\.(?P<tries>[0-9a-f]+)\.json")


class NoRunError(UsageError):
    """There is no run at a URL."""


Line = tuple[str, RunDigest]
"""The path of an object, and what is in it."""


def read_remote(runs: RemoteRuns) -> History:
    """Return the history of the runs at a URL, and bring the record there up to date.

    Args:
        runs: those at the URL.

    Raises:
        NoRunError: there is none.
        UsageError: the store cannot be used.
    """
    names = runs.list_runs()
    lines, is_worth_joining = _read_lines(runs)
    found = [_find_final(lines.get(name, [])) for name in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        left = [name for name, one in zip(names, found, strict=True) if one is None]
        looks = pool.map(lambda name: _look(runs, name, lines.get(name, [])), left)
        looked = dict(zip(left, looks, strict=True))
    checked = [looked[name] if one is None else (*one, False) for name, one in zip(names, found, strict=True)]
    all_lines = [line for line in checked if line is not None]
    if not all_lines:
        raise NoRunError(f"{runs.url} has no run. Give the folder that the runs of all evals are in.")
    problem = _bring_up_to_date(runs, all_lines, is_worth_joining=is_worth_joining)
    newest = sorted((digest for _, digest, _ in all_lines), key=lambda run: run.order, reverse=True)
    shown = mark_runs(newest)
    folders = {run.run: run.folders for run in shown}
    return History(
        runs.url,
        shown,
        problem,
        lambda names: _read_manifests(runs, folders, names),
        lambda names: _read_summaries(runs, folders, names),
    )


def note_part(runs: RemoteRuns, root: Path, run: str) -> None:
    """Note that a run, or a part of it, is done; the last part makes the line of the run.

    Args:
        runs: those at the URL.
        root: the folder of the run, or of the part, on this machine.
        run: ``EVAL/NAME``.

    Raises:
        UsageError: the store cannot be used.
    """
    manifest = _load((root / "manifest.json").read_bytes())
    parts = Parts.of_run(manifest)
    if parts is not None and parts.of > 1 and len(parts.have) == 1:
        runs.write(f"{RECORD}/{run}/part-{parts.have[0]}-of-{parts.of}", b"")
        marks = (path.rpartition("/")[2] for path in runs.list_below(f"{RECORD}/{run}"))
        have = {int(name.split("-")[1]) for name in marks if name.endswith(f"-of-{parts.of}")}
        if any(shard.number not in have for shard in parts.missing) or sum(parts.trials) > MOST_BY_A_PART:
            return
    found = _look(runs, run, [])
    if found is not None and found[0]:
        runs.write(found[0], found[1].model_dump_json().encode())


# -- what is in the record


def _read_lines(runs: RemoteRuns) -> tuple[dict[str, list[Line]], bool]:
    """Return the lines of each run, and whether many of them had to be read one by one."""
    paths = runs.list_below(RECORD)
    joined = [path for path in paths if path.startswith(f"{RECORD}/{LINES}")]
    known: dict[str, RunDigest | None] = {}
    for content in runs.read(joined):  # one that is gone by now was joined into another
        for line in (content or b"").splitlines():
            path, _, rest = line.partition(b" ")
            known[path.decode("utf-8", "replace")] = read_digest(rest)
    single = [path for path in paths if _LINE.fullmatch(path) and known.get(path) is None]
    contents = runs.read(single)
    known |= {path: read_digest(content or b"") for path, content in zip(single, contents, strict=True)}
    found: dict[str, list[Line]] = {}
    for place, digest in known.items():
        match = _LINE.fullmatch(place)
        if match and digest is not None and digest.run == match["run"]:
            found.setdefault(digest.run, []).append((place, digest))
    return found, len(single) > WORTH_JOINING or len(joined) > 1


def _find_final(lines: Sequence[Line]) -> Line | None:
    """Return the line of a run of which nothing is missing: what is done does not change."""
    whole = [line for line in lines if (match := _LINE.fullmatch(line[0])) and _is_whole(match, line[1])]
    return whole[0] if len(whole) == 1 else None  # of two, one is of a run that was removed


def _is_whole(match: re.Match[str], digest: RunDigest) -> bool:
    return match["of"] == "1" or digest.state is State.MERGED


def _bring_up_to_date(
    runs: RemoteRuns, lines: Iterable[tuple[str, RunDigest, bool]], *, is_worth_joining: bool
) -> str:
    """Write what was made, and join what had to be read one by one; return why it cannot be."""
    kept = [(path, digest.model_dump_json().encode(), is_new) for path, digest, is_new in lines if path]
    try:
        for path, content, is_new in kept:
            if is_new:
                runs.write(path, content)
        if is_worth_joining or sum(is_new for *_, is_new in kept) > WORTH_JOINING:
            joined = b"".join(path.encode() + b" " + content + b"\n" for path, content, _ in sorted(kept))
            name = f"{RECORD}/{LINES}{_hash(joined)}.jsonl"
            old = [path for path in runs.list_below(RECORD) if path.startswith(f"{RECORD}/{LINES}")]
            runs.write(name, joined)
            runs.delete(path for path in old if path != name)
    except UsageError as error:  # a key that may only read is enough to list runs
        return f"the record was not brought up to date: {error}"
    return ""


# -- what is in the runs


def _look(runs: RemoteRuns, run: str, lines: Sequence[Line]) -> tuple[str, RunDigest, bool] | None:
    """Return where a run is in the record, its digest as it is now, whether it is new; None for no run."""
    try:
        there = runs.find_parts(run)
        if not there.of:
            return None
        if not there.done:
            return "", _describe_begun(run, there), False
        tries = _hash(json.dumps(sorted(there.done.values())).encode())
        path = f"{RECORD}/{run}/{len(there.done)}-of-{there.of}.{tries}.json"
        if known := dict(lines).get(path):
            return path, known, False
        return path, _digest(runs, run, there), True
    except UsageError as error:
        return "", _make(run, state=State.DAMAGED, note=str(error)), False


def _make(run: str, **values: Any) -> RunDigest:
    given = {"eval": run.partition("/")[0], "started_at": "1970-01-01T00:00:00.000Z", "stamps": ()}
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
    update: dict[str, Any] = {"stamps": (), "folders": folders}
    if there.of > 1:
        is_whole = digest.state is State.MERGED
        done = f"{len(there.done)} of {there.of} parts are done"
        if is_whole or len(there.done) < there.of:
            update["note"] = f"made in {len(there.done)} parts" if is_whole else done
        update["parts"] = ()  # none of them is a run of its own here
    elif PAGE in runs.list_in(folders[0]):
        update["page"] = f"{folders[0]}/{PAGE}"
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


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
