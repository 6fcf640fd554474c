"""Whose work counts: parts of a run at a URL, tries at them, claims, and what is done.

An engine that starts a part again does not know that the first try has ended. So each try writes below a
prefix of its own, and one object, ``done``, which can be written once, names the try that counts::

    RUN/parts/3-of-8/claim-000001        who works on it; a higher number takes over
    RUN/parts/3-of-8/done                the try that counts, and the digest of its files
    RUN/parts/3-of-8/try-1f3a.../        all that this try has written
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.run.shards import Shard

FORM = 1
"""Of what is written at a URL; a higher number means something that this version does not know."""

PARTS, DONE, VERDICT = "parts", "done", "verdict"

_PART = re.compile(r"(\d{1,6})-of-(\d{1,6})")
_TOKEN = re.compile(r"[0-9a-f]{32}")


class DoneError(RemoteError):
    """A part is done already.

    Args:
        part: which one.
        done: the try that counts.
    """

    def __init__(self, part: Part, done: Done) -> None:
        self.place = f"{part.bucket.url}/{part.path}"
        self.ended = done.ended
        self.settings = done.settings
        super().__init__(
            f"{self.place} is done already, and what is done does not change. Nothing was run. For another "
            "run take another name: --eval-run-name=NAME."
        )


class OvertakenError(RemoteError):
    """Another try has taken a part over."""


@dataclass(frozen=True)
class Done:
    """Which try of a part counts."""

    token: str
    digest: str
    """Of its files: two tries that have the same one are the same run."""
    files: Sequence[Any] = ()
    """Those of the run itself, with the lines of its attempts: all that reports and gates need."""
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

    def prefix(self, token: str) -> str:
        """Return the folder of a try."""
        return f"{self.path}/try-{token}"

    def done(self) -> Done | None:
        """Return which try counts; None before one does.

        Raises:
            RemoteError: the object is damaged, or a newer version has written it.
        """
        content = self.bucket.get(f"{self.path}/{DONE}")
        if content is None:
            return None
        found = read_json(content, f"{self.bucket.url}/{self.path}/{DONE}")
        token, digest = str(found.get("try")), str(found.get("digest"))
        try:
            ended = found.get("ended")
            ended, settings = ended if type(ended) is int else None, found.get("settings")
            files = found.get("files")
            files = files if isinstance(files, list) else []
            return Done(check_token(token), digest, files, ended, settings)
        except ValueError:
            raise RemoteError(f"{self.bucket.url}/{self.path}/{DONE} is damaged: it names no try.") from None

    def claim(self, token: str) -> int:
        """Take the part over from whoever works on it; return the number of the claim.

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
        while not self.bucket.put_new(f"{self.path}/{_claim(number)}", _dump({"try": token, "at": _now()})):
            number += 1
        return number

    @property
    def overtaken(self) -> str:
        """What to say to a try that was taken over."""
        return (
            f"{self.bucket.url}/{self.path}: another try has taken this part over, and its work is to count."
        )

    def is_taken_over(self, number: int) -> bool:
        """Whether a claim has a successor; costs one request.

        Args:
            number: of the claim.
        """
        return self.bucket.get(f"{self.path}/{_claim(number + 1)}") is not None

    def holders(self) -> list[str | None]:
        """Return who has claimed the part, the first one first; None for a claim that is gone."""
        return [self._holder(path) for path in self.claims()]

    def is_held_by(self, token: str) -> bool:
        """Whether nobody has taken the part over since a try has claimed it."""
        found = self.claims()
        return bool(found) and self._holder(found[-1]) == token

    def claims(self) -> list[str]:
        """Return the paths of the claims, in their order."""
        names = self.bucket.list_files(self.path)
        return [f"{self.path}/{name}" for name in names if name.startswith("claim-")]

    def finish(
        self,
        token: str,
        digest: str,
        files: Sequence[Any] = (),
        ended: int | None = None,
        settings: str | None = None,
    ) -> Done:
        """Have a try count, unless another one does already; return the one that does.

        Args:
            token: of the try.
            digest: of its files.
            files: those of the run itself.
            ended: the exit code of the session that has made it; None where nobody knows.
            settings: a digest of what decided about that code besides the results; None where nobody knows.

        Raises:
            RemoteError: the store cannot be used.
        """
        record = {"try": token, "digest": digest, "files": files, "ended": ended, "settings": settings}
        content = _dump({**record, "at": _now()})
        if self.bucket.put_new(f"{self.path}/{DONE}", content):
            return Done(token, digest, files, ended, settings)
        found = self.done()
        if found is None:
            raise RemoteError(f"{self.bucket.url}/{self.path}/{DONE} cannot be written, and is not there.")
        return found

    def _holder(self, path: str) -> str | None:
        content = self.bucket.get(path)
        return None if content is None else str(read_json(content, f"{self.bucket.url}/{path}").get("try"))


def claim_verdict(bucket: Bucket, by: str) -> None:
    """Note for whom a run is decided about, so that it is not decided about for somebody else.

    Args:
        bucket: at the URL of the run.
        by: who decides; the same one may ask again.

    Raises:
        RemoteError: it is decided for somebody else already, or the store cannot be used.
    """
    bucket.check_conditions()
    if not bucket.put_new(VERDICT, _dump({"by": by})):
        raise RemoteError(
            f"{bucket.url} is decided already, and nothing of it was run again. For another run take another "
            "name: --name NAME."
        )


def list_parts(bucket: Bucket) -> list[Part]:
    """Return the parts of the run at a URL of which something is there.

    Raises:
        RemoteError: they belong to runs that were divided otherwise.
    """
    shards = _list_shards(bucket)
    if len({shard.of for shard in shards}) > 1:
        told = ", ".join(f"{shard.number}-of-{shard.of}" for shard in shards)
        raise RemoteError(f"{bucket.url} has parts of runs that were divided otherwise: {told}.")
    return [Part(bucket, shard) for shard in shards]


def check_division(part: Part) -> None:
    """Refuse a part of a run that was divided otherwise: nobody could read that run any more.

    Raises:
        RemoteError: it is one, or the store cannot be used.
    """
    other = next((shard for shard in _list_shards(part.bucket) if shard.of != part.shard.of), None)
    if other is not None:
        raise RemoteError(
            f"{part.bucket.url} was divided otherwise: it has part {other.number}-of-{other.of}, and this is "
            f"{part.name}. Take the same number of shards, or another name."
        )


def _list_shards(bucket: Bucket) -> list[Shard]:
    found = [match for name in bucket.list_folders(PARTS) if (match := _PART.fullmatch(name))]
    return sorted((Shard(int(match[1]), int(match[2])) for match in found), key=lambda one: one.number)


def new_token() -> str:
    """Return the name of a new try: 32 hex digits."""
    return secrets.token_hex(16)


def check_token(token: object) -> str:
    """Return the name of a try if it is one: it becomes a part of a path.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ValueError(token)
    return token


def read_json(content: bytes, place: str) -> dict[str, Any]:
    """Return an object that this package has written.

    Args:
        content: of it.
        place: its URL, for messages.

    Raises:
        RemoteError: it is damaged, or a newer version has written it.
    """
    try:
        found = json.loads(content)
        form = found["form"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RemoteError(f"{place} is damaged.") from None
    if form != FORM:
        raise RemoteError(
            f"{place}: a newer version of pytest-browsereval has written it (form {form!r}, here {FORM} is "
            "known). Run `pip install --upgrade pytest-browsereval`"
        )
    return dict(found)


def _claim(number: int) -> str:
    return f"claim-{number:06}"


def _dump(record: dict[str, Any]) -> bytes:
    return json.dumps({"form": FORM, **record}).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
