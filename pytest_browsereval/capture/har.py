"""The network traffic of an attempt as a HAR file, without what logs a reader in."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import write_whole
from pytest_browsereval.redaction.logins import remove_logins
from pytest_browsereval.redaction.marks import REMOVED
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.redaction.tokens import remove_tokens
from pytest_browsereval.temporary import own_folder

HAR_FILE = "network.har"
"""Its name in the attempt's folder."""

TEXT_LIMIT_BYTES = 1_000_000
"""What is longer, a file that is sent up say, is left out."""

_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")


@dataclass(frozen=True)
class Traffic:
    """What a grader looks at in the traffic, besides addresses, headers, what was sent and the status."""

    replies: bool = False
    """Replies in JSON."""
    cookies: frozenset[str] = frozenset()
    """Cookies by their names, preferences say; all others are taken out."""

    @classmethod
    def all_of(cls, wanted: Iterable[Traffic | None]) -> Traffic:
        """Return what several graders look at together."""
        given = [one for one in wanted if one is not None]
        cookies = frozenset[str]().union(*(one.cookies for one in given))
        return cls(any(one.replies for one in given), cookies)


@asynccontextmanager
async def recorded_traffic(
    folder: Path,
    wanted: Traffic,
    redact: Callable[[str], str],
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> AsyncIterator[Path]:
    """Give the path at which a window records, and save what it recorded once it has closed.

    The raw recording holds every cookie: it is in a folder of its own that nobody else can read, and goes.

    Args:
        folder: the attempt's; nothing is written there where the window recorded nothing.
        wanted: what has to be kept for graders.
        redact: takes the run's secrets out of a text.
        keep: gets the recording with all that was sent and answered, to be replayed; see ``replayable``.
    """
    # Not in a thread: a folder made while this is cancelled would be known to nobody.
    place = Path(tempfile.mkdtemp(prefix="har-", dir=own_folder()))
    try:
        try:
            yield place / HAR_FILE
        finally:  # what went on before something broke is worth most
            await asyncio.to_thread(_save, place / HAR_FILE, folder, wanted, redact, keep)
    finally:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


def _save(
    raw: Path,
    folder: Path,
    wanted: Traffic,
    redact: Callable[[str], str],
    keep: Callable[[dict[str, Any]], None] | None,
) -> None:
    try:
        content = json.loads(raw.read_bytes())
        entries = content["log"]["entries"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # the browser died before it could tell
        return
    if keep is not None:
        keep(replayable(content, raw.parent))
    for entry in entries:
        _complete(entry["request"].get("postData"), raw.parent, keep=True)
        reply = entry["response"].get("content", {})
        _complete(reply, raw.parent, keep=wanted.replies and bool(_JSON.search(reply.get("mimeType", ""))))
        for side in (entry["request"], entry["response"]):
            remove_logins(side, wanted.cookies)
    safe = redact_json(content, redact)
    if folder.is_dir():
        write_whole(folder / HAR_FILE, json.dumps(safe, ensure_ascii=False, indent=1) + "\n")


def replayable(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a recording as one file that pages can be answered from, without what logs a reader in.

    Cookies and headers that log somebody in are left out, and so are tokens and passwords.

    Args:
        content: what a browser recorded.
        folder: where it put the bodies of requests and replies.
    """
    entries = copy.deepcopy(content["log"]["entries"])
    for entry in entries:
        for body in (entry["request"].get("postData"), entry["response"].get("content")):
            _embed(body, folder)
        for side in (entry["request"], entry["response"]):
            remove_logins(side)
            side["headers"] = [header for header in side.get("headers", ()) if header["value"] != REMOVED]
    safe: dict[str, Any] = remove_tokens({"log": {**content["log"], "entries": entries}})
    return safe


def _embed(content: dict[str, Any] | None, folder: Path) -> None:
    """Put a body that was recorded beside the file into it: as text, or else in base 64."""
    name = content.pop("_file", None) if content else None
    file = folder / Path(str(name)).name
    if content is None or name is None or not file.is_file():
        return
    data = file.read_bytes()
    try:
        content["text"] = data.decode()
    except UnicodeDecodeError:
        content["text"], content["encoding"] = base64.b64encode(data).decode(), "base64"


def _complete(content: dict[str, Any] | None, folder: Path, *, keep: bool) -> None:
    """Put a text that was recorded beside the file into it, or drop it."""
    name = content.pop("_file", None) if content else None
    if content is None or name is None or not keep:
        return
    file = folder / Path(str(name)).name
    if not file.is_file():
        content["comment"] = "its text was not recorded"
    elif (size := file.stat().st_size) <= TEXT_LIMIT_BYTES:
        content["text"] = file.read_bytes().decode(errors="replace")
    else:
        content["comment"] = f"{size} bytes are left out"
