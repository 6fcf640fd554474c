"""The network traffic of an attempt as a HAR file, without what logs a reader in."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.redaction.logins import remove_logins
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run_files import write_json
from pytest_browsereval.temporary import private_folder

HAR_FILE = "network.har"
"""Its name in the attempt's folder."""

TEXT_LIMIT_BYTES = 1_000_000
"""What is longer, a file that is sent up say, is left out."""

_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")

Keep = Callable[[dict[str, Any], Path], None]
"""Gets what a browser recorded, as it is, and the folder of the bodies that it refers to."""


@asynccontextmanager
async def record_traffic(
    folder: Path, wanted: Traffic, redact: Callable[[str], str], keep: Keep | None = None
) -> AsyncIterator[Path]:
    """Give the path at which a window records, and save what it recorded once it has closed.

    The raw recording holds every cookie: it is in a folder of its own that nobody else can read, and goes.

    Args:
        folder: the attempt's; nothing is written there where the window recorded nothing.
        wanted: what has to be kept for graders.
        redact: takes the run's secrets out of a text.
        keep: gets the raw recording, to be replayed.
    """
    async with private_folder("har-") as place:
        try:
            yield place / HAR_FILE
        finally:  # what went on before something broke is worth most
            await asyncio.to_thread(_save, place / HAR_FILE, folder, wanted, redact, keep)


def _save(raw: Path, folder: Path, wanted: Traffic, redact: Callable[[str], str], keep: Keep | None) -> None:
    try:
        content = json.loads(raw.read_bytes())
        entries = content["log"]["entries"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # the browser died before it could tell
        return
    # Before anything is taken out: a replay needs cookies and replies as they were.
    if keep is not None:
        keep(content, raw.parent)
    for entry in entries:
        _complete(entry["request"].get("postData"), raw.parent, keep=True)
        reply = entry["response"].get("content", {})
        _complete(reply, raw.parent, keep=wanted.replies and bool(_JSON.search(reply.get("mimeType", ""))))
        for side in (entry["request"], entry["response"]):
            remove_logins(side, wanted.cookies)
    safe = redact_json(content, redact)
    # The attempt may have been given up and its folder removed while the browser wrote.
    if folder.is_dir():
        write_json(folder / HAR_FILE, safe)


def take_attachment(content: dict[str, Any] | None, folder: Path) -> Path | None:
    """Return the file of a body that was recorded next to the HAR file, which names it no longer.

    Args:
        content: of a request or a response, if it has one.
        folder: of the HAR file.
    """
    name = content.pop("_file", None) if content else None
    return None if name is None else folder / Path(str(name)).name


def _complete(content: dict[str, Any] | None, folder: Path, *, keep: bool) -> None:
    """Put a text that was recorded next to the file into it, or drop it."""
    file = take_attachment(content, folder)
    if content is None or file is None or not keep:
        return
    if not file.is_file():
        content["comment"] = "its text was not recorded"
    elif (size := file.stat().st_size) <= TEXT_LIMIT_BYTES:
        content["text"] = file.read_bytes().decode(errors="replace")
    else:
        content["comment"] = f"{size} bytes are left out"
