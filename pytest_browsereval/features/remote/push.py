"""Puts a run that has ended at a URL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.capture.trajectory import write_whole
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.features.remote.bucket import IN_FLIGHT, Bucket, RemoteError
from pytest_browsereval.features.remote.claims import Part, new_token
from pytest_browsereval.features.remote.listing import (
    MARKER,
    Entry,
    Parcel,
    check_path,
    digest_of,
    list_parcels,
    read_segments,
    write_segment,
)
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import RunStore

SEGMENT = 500
"""Objects that a segment lists: what a push that is cut off has to send again at most."""


@dataclass(frozen=True)
class Pushed:
    """What came of a push."""

    url: str
    """Of the run."""
    shard: Shard
    sent: int
    """Objects that were written."""
    kept: int
    """Objects that were there already."""


def push_run(root: Path, url: str, name: str | None = None) -> Pushed:
    """Put a run at a URL: whole, or not to be seen.

    Args:
        root: the run's folder.
        url: of the folder that the runs of all evals are in.
        name: of the run there; its id by default. Shards of one run need the same.

    Raises:
        UsageError: a process writes the run, something else is there already, or the store cannot be used.
    """
    store = RunStore(root)
    store.check_version()
    store.check_idle()
    manifest = store.manifest()
    parcels = list_parcels(root)
    eval_name = safe_folder(str(manifest.get("name") or root.resolve().parent.name))
    name = name or root.resolve().name
    check_path(name, "--name")
    bucket = Bucket.open(f"{url.rstrip('/')}/{eval_name}/{name}", is_written=True)
    parts = Parts.of_run(manifest)
    if parts is not None and len(parts.have) != 1:
        raise RemoteError(f"{root} was merged from some parts of a run. Merge all of them, and push that.")
    part = Part(bucket, Shard(1, 1) if parts is None else Shard(parts.have[0], parts.of))
    local = {entry.place: entry for entry in (parcel.read()[0] for parcel in parcels)}
    digest = digest_of(local.values())
    if (done := part.done()) is not None:
        _check_same(part, done.digest, digest)
        return Pushed(bucket.url, part.shard, 0, len(parcels))
    bucket.check_conditions()
    token = _token(root, bucket.url)
    part.claim(token)
    sent = _send(part, token, parcels, local)
    if not part.is_held_by(token):
        raise RemoteError(
            f"{bucket.url}/{part.path}: another try has taken this part over. Nothing counts yet."
        )
    _check_same(part, part.finish(token, digest).digest, digest)
    return Pushed(bucket.url, part.shard, sent, len(parcels) - sent)


def _token(root: Path, url: str) -> str:
    """Return the name of this folder's try there: a push that was cut off goes on."""
    marker = root / MARKER
    try:
        known = json.loads(marker.read_bytes())
        if known["url"] == url:
            return str(known["try"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    token = new_token()
    write_whole(marker, json.dumps({"url": url, "try": token}))
    return token


def _send(part: Part, token: str, parcels: Sequence[Parcel], local: dict[str, Entry]) -> int:
    """Write the objects that are not there; return how many."""
    prefix = part.prefix(token)
    there, segments = read_segments(part.bucket, prefix)
    missing = [one for one in parcels if (place := _place(one)) not in there or there[place] != local[place]]

    def send(parcel: Parcel) -> Entry:
        entry, content = parcel.read()
        part.bucket.put(f"{prefix}/{entry.place}", content)
        return entry

    with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="push") as pool:
        for number, first in enumerate(range(0, len(missing), SEGMENT), segments + 1):
            write_segment(part.bucket, prefix, number, list(pool.map(send, missing[first : first + SEGMENT])))
    return len(missing)


def _place(parcel: Parcel) -> str:
    return Entry(parcel.path, 0, "", parcel.bundle).place


def _check_same(part: Part, theirs: str, ours: str) -> None:
    if theirs != ours:
        raise RemoteError(
            f"{part.bucket.url}/{part.path} is done by another try, which counts. Nothing of it was changed. "
            "Push under another name: `--name NAME`."
        )
