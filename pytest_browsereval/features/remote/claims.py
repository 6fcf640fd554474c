"""Whose work counts: parts of a run at a URL, tries at them, claims, and what is done.

An engine that starts a part again does not know that the first try has ended. So each try writes below a
prefix of its own, and one object, ``done``, which can be written once, names the try that counts::

    RUN/parts/3-of-8/claim-000001        who works on it; a higher number takes over
    RUN/parts/3-of-8/done                the try that counts, and the hashes of all its files
    RUN/parts/3-of-8/try-1f3a.../        the files of this try's run folder
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.files import MARKER, check_path
from pytest_browsereval.run.shards import Shard

FORM = 2
"""Of what is written at a URL; a higher number means something that this version does not know."""

PARTS, DONE, VERDICT = "parts", "done", "verdict"

_PART = re.compile(r"(\d{1,6})-of-(\d{1,6})")
_TOKEN = re.compile(r"[0-9a-f]{32}")


class OvertakenError(RemoteError):
    """Another try has taken a part over."""


@dataclass(frozen=True)
class Done:
    """Which try of a part counts."""

    token: str
    files: Mapping[str, str] = field(default_factory=dict)
    """What the part consists of: size and SHA-256 of each file, by its path."""
    ended: int | None = None
    """The exit code of the session that has made it; None where nobody knows."""
    settings: str | None = None
    """Its ``digest_of_settings``; None where nobody knows."""


class Part:
    """A part of a run at a URL.

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
            RemoteError: the object is damaged, or a newer version has written it.
        """
        place = f"{self.path}/{DONE}"
        content = self.bucket.get(place)
        if content is None:
            return None
        found = read_json(content, f"{self.bucket.url}/{place}")
        ended, token = found.get("ended"), check_token(found.get("try"))
        if token is None:
            raise RemoteError(f"{self.bucket.url}/{place} is damaged: it names no try.")
        files = _read_files(found, f"{self.bucket.url}/{place}")
        return Done(token, files, ended if type(ended) is int else None, found.get("settings"))

    def sent(self, token: str) -> dict[str, str]:
        """Return what a try has sent so far, as ``done`` has it.

        Raises:
            RemoteError: the object is damaged, or another version has written it.
        """
        place = f"{self.prefix(token)}/{MARKER}"
        content, url = self.bucket.get(place), f"{self.bucket.url}/{place}"
        return {} if content is None else _read_files(read_json(content, url), url)

    def note_sent(self, token: str, files: Mapping[str, str]) -> None:
        """Write down what a try has sent so far.

        Raises:
            RemoteError: it cannot be written.
        """
        self.bucket.put(f"{self.prefix(token)}/{MARKER}", dump_json({"files": files}))

    def claim(self, token: str) -> int:
        """Take the part over from another try; return the number of the claim.

        Args:
            token: of the try.

        Raises:
            RemoteError: another try has taken it over from this one; or the store cannot be used.
        """
        holders = self.holders()
        if holders and holders[-1] == token:
            return len(holders)
        if token in holders:
            raise OvertakenError(
                f"{self.overtaken} Push this one under another name if you need it: `--name NAME`."
            )
        number = len(holders) + 1
        while not self.bucket.put_new(self._claim(number), dump_json({"try": token, "at": _now()})):
            number += 1
        return number

    @property
    def overtaken(self) -> str:
        """What to say to a try that was taken over."""
        return f"{self.url}: another try has taken this part over, and its work is to count."

    def is_taken_over(self, number: int) -> bool:
        """Whether a claim has a successor; costs one request.

        Args:
            number: of the claim.
        """
        return self.bucket.get(self._claim(number + 1)) is not None

    def holders(self) -> list[str | None]:
        """Return who has claimed the part, the first one first; None for a claim that is damaged."""
        return [check_token(claim.get("try")) for claim in self.claims()]

    def claims(self) -> list[dict[str, Any]]:
        """Return the claims, in their order."""
        names = (name for name in self.bucket.list_files(self.path) if name.startswith("claim-"))
        found = ((name, self.bucket.get(f"{self.path}/{name}")) for name in names)
        return [read_json(content, f"{self.url}/{name}") for name, content in found if content is not None]

    def finish(self, done: Done) -> Done:
        """Have a try count, unless another one does already; return the one that does.

        Raises:
            RemoteError: the store cannot be used.
        """
        record = {"try": done.token, "ended": done.ended, "settings": done.settings, "at": _now()}
        if self.bucket.put_new(f"{self.path}/{DONE}", dump_json({**record, "files": done.files})):
            return done
        return self.done() or done

    def _claim(self, number: int) -> str:
        return f"{self.path}/claim-{number:06}"


def claim_verdict(bucket: Bucket, by: str) -> None:
    """Note for whom a run is decided about, so that it is not decided about for somebody else.

    Args:
        bucket: at the URL of the run.
        by: who decides; the same one may ask again.

    Raises:
        RemoteError: it is decided for somebody else already, or the store cannot be used.
    """
    bucket.check_conditions()
    if not bucket.put_new(VERDICT, dump_json({"by": by})):
        raise RemoteError(
            f"{bucket.url} is decided already, and nothing of it was run again. For another run take another "
            "name: --name NAME."
        )


def list_parts(bucket: Bucket) -> list[Part]:
    """Return the parts of the run at a URL of which something is there.

    Raises:
        RemoteError: they belong to runs that were divided otherwise.
    """
    found = [match for name in bucket.list_folders(PARTS) if (match := _PART.fullmatch(name))]
    shards = sorted((Shard(int(match[1]), int(match[2])) for match in found), key=lambda one: one.number)
    if len({shard.of for shard in shards}) > 1:
        told = ", ".join(f"{shard.number}-of-{shard.of}" for shard in shards)
        raise RemoteError(f"{bucket.url} has parts of runs that were divided otherwise: {told}.")
    return [Part(bucket, shard) for shard in shards]


def check_division(part: Part) -> None:
    """Refuse a part of a run that was divided otherwise: nobody could read that run any more.

    Raises:
        RemoteError: it is one, or the store cannot be used.
    """
    other = next((one for one in list_parts(part.bucket) if one.shard.of != part.shard.of), None)
    if other is not None:
        raise RemoteError(
            f"{part.bucket.url} was divided otherwise: it has part {other.name}, and this is "
            f"{part.name}. Take the same number of shards, or another name."
        )


def new_token() -> str:
    """Return the name of a new try: 32 hex digits."""
    return secrets.token_hex(16)


def check_token(token: object) -> str | None:
    """Return the name of a try, which becomes a part of a path; None if it is none."""
    return token if isinstance(token, str) and _TOKEN.fullmatch(token) else None


def read_json(content: bytes, place: str) -> dict[str, Any]:
    """Return an object that this package has written.

    Args:
        content: of it.
        place: its URL, for messages.

    Raises:
        RemoteError: it is damaged, or another version has written it.
    """
    try:
        found = dict(json.loads(content))
        form = found["form"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RemoteError(f"{place} is damaged.") from None
    if form != FORM:
        raise RemoteError(
            f"{place}: another version of pytest-browsereval has written it (form {form!r}, here {FORM} is "
            "known). Run `pip install --upgrade pytest-browsereval`"
        )
    return found


def _read_files(found: Mapping[str, Any], place: str) -> dict[str, str]:
    files = found.get("files")
    if not isinstance(files, dict):
        raise RemoteError(f"{place} is damaged.")
    return {check_path(path, place): str(known) for path, known in files.items()}


def dump_json(record: Mapping[str, Any]) -> bytes:
    """Return an object as it is written."""
    return json.dumps({"form": FORM, **record}).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
