"""Whose work counts: parts of a run at a URL, tries at them, claims, and what is done.

An engine that starts a part again does not know that the first try has ended. So each try writes below a
prefix of its own, and one object, ``done``, which can be written once, names the try that counts::

    RUN/parts/3-of-8/claim-000001        a session works on it; a higher number takes over
    RUN/parts/3-of-8/done                the try that counts, and the hashes of all its files
    RUN/parts/3-of-8/try-1f3a.../        the files of this try's run folder
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.files import check_path
from pytest_browsereval.run.shards import Shard

PARTS, DONE = "parts", "done"

_PART = re.compile(r"(\d{1,6})-of-(\d{1,6})")
_TOKEN = re.compile(r"[0-9a-f]{32}")


class OvertakenError(RemoteError):
    """Another try has taken a part over."""


class Done(BaseModel):
    """Which try of a part counts."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    form: Literal[3] = 3
    """Of what is written at a URL; another number means something that this version does not know."""
    token: str = Field(alias="try", pattern=r"^[0-9a-f]{32}$")
    files: dict[str, str]
    """What the part consists of: size and SHA-256 of each file, by its path."""


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
            RemoteError: the object is damaged, or another version has written it.
        """
        content, place = self.bucket.get(f"{self.path}/{DONE}"), f"{self.url}/{DONE}"
        if content is None:
            return None
        try:
            done = Done.model_validate_json(content)
        except ValidationError:
            raise RemoteError(
                f"{place} is damaged, or another version of pytest-browsereval has written it. Run `pip "
                "install --upgrade pytest-browsereval`"
            ) from None
        for path in done.files:
            check_path(path, place)
        return done

    def finish(self, done: Done) -> Done:
        """Have a try count, unless another one does already; return the one that does.

        Raises:
            RemoteError: the store cannot be used.
        """
        content = done.model_dump_json(by_alias=True).encode()
        return done if self.bucket.put_new(f"{self.path}/{DONE}", content) else self.done() or done

    def list_tries(self) -> list[str]:
        """Return the tries that have sent something."""
        names = self.bucket.list_folders(self.path)
        return [token for name in names if _TOKEN.fullmatch(token := name.removeprefix("try-"))]

    def claim(self, token: str) -> int:
        """Take the part over from other tries; return the number of the claim.

        Args:
            token: of the try.

        Raises:
            RemoteError: the store cannot be used.
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
