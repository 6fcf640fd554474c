"""Runs at a URL: which files they have, and whose work counts.

An engine that starts a part again does not know that the first try has ended. So each try writes below a
prefix of its own, and one object, ``done``, which can be written once, names the try that counts::

    RUN/parts/3-of-8/claim-000001        a session works on it; a higher number takes over
    RUN/parts/3-of-8/done                the try that counts, and the hashes of all its files
    RUN/parts/3-of-8/try-1f3a.../        the files of this try's run folder
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.capture.trajectory import EFFECTS_FILE
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.shared.threads import map_apart
from pytest_browsereval.model.remote import PartsThere
from pytest_browsereval.run.locks import LOCKS
from pytest_browsereval.run.shards import Shard

PARTS = "parts"

_PART = re.compile(r"(\d{1,6})-of-(\d{1,6})")
_ODD = re.compile(r"[\\:\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that no name of a file has: not on Windows, not in a bucket, or not in UTF-8."""


class OvertakenError(RemoteError):
    """Another try has taken a part over."""


# -- files


def check_path(path: str, place: str) -> str:
    """Return a path that does not lead out of the run's folder, here or on another system.

    Args:
        path: of a file below it.
        place: what names it.

    Raises:
        RemoteError: it does.
    """
    if _ODD.search(path) or not {"", ".", "..", LOCKS}.isdisjoint(path.split("/")):
        raise RemoteError(f"{place} names a file that does not belong to a run: {path[-80:]!a}.")
    return path


def list_paths(root: Path, folder: str = "") -> Iterator[str]:
    """Yield the paths of all files of a run, but for locks and what changed in sites.

    Args:
        root: the run's folder.
        folder: only what is below this one of it.

    Raises:
        RemoteError: it has a link, another thing that is not a plain file, or a name that is refused.
    """
    with os.scandir(root / folder) as listed:
        entries = sorted(listed, key=lambda one: one.name)
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if path == LOCKS or entry.name == EFFECTS_FILE:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from list_paths(root, path)
        elif entry.is_symlink() or not entry.is_file():
            raise RemoteError(f"{ascii(entry.path)[1:-1]} is not a plain file. Remove it.")
        else:
            yield check_path(path, str(root))  # nobody could read the run there


def describe_content(content: bytes) -> str:
    """Return the size and the SHA-256 of an object."""
    return f"{len(content)}-{hashlib.sha256(content).hexdigest()}"


# -- parts


class Done(BaseModel):
    """Which try of a part counts."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    form: Literal[3] = 3
    """Of what is written at a URL; another number means something that this version does not know."""
    token: str = Field(alias="try", pattern=r"^[0-9a-f]{32}$")
    files: dict[str, str]
    """What the part consists of: size and SHA-256 of each file, by its path."""


class Part:
    """A part of a run at a URL. What the store refuses raises ``RemoteError``.

    Args:
        bucket: at the URL of the run.
        shard: which one; a run that is not divided is the first of one.
    """

    def __init__(self, bucket: Bucket, shard: Shard) -> None:
        self.bucket = bucket
        self.shard = shard
        self.name = f"{shard.number}-of-{shard.of}"
        self.path = f"{PARTS}/{self.name}"
        self.url = f"{bucket.url}/{self.path}"

    def prefix(self, token: str) -> str:
        """Return the folder of a try."""
        return f"{self.path}/try-{token}"

    def done(self) -> Done | None:
        """Return which try counts; None before one does.

        Raises:
            RemoteError: the object is damaged, or another version has written it.
        """
        content, place = self.bucket.get(f"{self.path}/done"), f"{self.url}/done"
        if content is None:
            return None
        try:
            done = Done.model_validate_json(content)
        except ValidationError:
            why = "is damaged, or another version wrote it. Run `pip install --upgrade pytest-browsereval`"
            raise RemoteError(f"{place} {why}") from None
        for path in done.files:
            check_path(path, place)
        return done

    def finish(self, done: Done) -> Done:
        """Have a try count, unless another one does already; return the one that does."""
        content = done.model_dump_json(by_alias=True).encode()
        return done if self.bucket.put_new(f"{self.path}/done", content) else self.done() or done

    def claim(self, token: str) -> int:
        """Take the part over from other tries; return the number of the claim.

        Args:
            token: of the try.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        content = json.dumps({"try": token, "at": at}).encode()
        number = 1
        while not self.bucket.put_new(self._claim(number), content):
            number += 1
        return number

    def is_taken_over(self, number: int) -> bool:
        """Whether a claim has a successor; costs one request.

        Args:
            number: of the claim.
        """
        return self.bucket.get(self._claim(number + 1)) is not None

    def begun_at(self) -> str:
        """Return when the first claim was made, with a time zone; "" if nobody knows."""
        with suppress(ValueError, TypeError, KeyError):
            return str(json.loads(self.bucket.get(self._claim(1)) or b"{}")["at"])
        return ""

    def _claim(self, number: int) -> str:
        return f"{self.path}/claim-{number:06}"


def list_parts(bucket: Bucket, of: int | None = None) -> list[Part]:
    """Return the parts of the run at a URL of which something is there.

    Args:
        bucket: at the URL.
        of: into how many parts the run has to be divided; None if nobody asks for a number.

    Raises:
        RemoteError: there are parts of a run that was divided otherwise: nobody could read both.
    """
    found = [match for name in bucket.list_folders(PARTS) if (match := _PART.fullmatch(name))]
    shards = sorted((Shard(int(match[1]), int(match[2])) for match in found), key=lambda one: one.number)
    if len({shard.of for shard in shards} | ({of} if of else set())) > 1:
        named = ", ".join(f"{shard.number}-of-{shard.of}" for shard in shards)
        how = "Use the same number of shards, or another name."
        raise RemoteError(f"{bucket.url} was divided differently: it has part {named}. {how}")
    return [Part(bucket, shard) for shard in shards]


class BucketRuns:
    """The runs in a bucket, for those who list them.

    Args:
        url: of the folder of all runs.

    Raises:
        UsageError: it is not such a URL, or there is no key for it.
    """

    def __init__(self, url: str) -> None:
        self._bucket = Bucket.open(url)
        self.url = self._bucket.url

    def list_runs(self) -> list[str]:
        """Return ``EVAL/NAME`` of all runs of which something is there."""
        evals = [name for name in self._bucket.list_folders("") if not name.startswith(".")]
        found = map_apart(lambda name: [f"{name}/{run}" for run in self._bucket.list_folders(name)], evals)
        return [run for runs in found for run in runs]

    def find_parts(self, run: str) -> PartsThere:
        """Return what is there of a run; its parts are asked for at once."""
        parts = list_parts(Bucket.open(f"{self.url}/{run}"))
        done = zip(parts, map_apart(lambda part: part.done(), parts), strict=True)
        folders = {part.shard.number: f"{run}/{part.prefix(one.token)}" for part, one in done if one}
        begun_at = parts[0].begun_at() if parts and not folders else ""
        return PartsThere(parts[0].shard.of if parts else 0, folders, begun_at)

    def save(self, paths: Mapping[str, Path]) -> None:
        """Write objects into files, several at once; no file for one that is not there."""
        for place, content in zip(paths.values(), map_apart(self._bucket.get, paths), strict=True):
            if content is not None:
                place.write_bytes(content)

    def write(self, path: str, content: bytes) -> None:
        """Write an object, or write it anew."""
        self._bucket.put(path, content)
