"""The file of recorded replies of servers to pages: a HAR file that holds no logins.

It carries a digest over its entries: evidence is not written by hand.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.har import take_attachment
from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.replay.cassette_file import RECORD_AGAIN, CassetteError, refuse_edited
from pytest_browsereval.features.replay.tokens import remove_tokens
from pytest_browsereval.features.replay.volatile import compute_digest
from pytest_browsereval.redaction.logins import remove_logins
from pytest_browsereval.redaction.marks import REMOVED

_SIGNED = "pytest-browsereval 1: "
"""What the comment of a recording begins with; its digest follows."""


def match_recorded(live: Sequence[str]) -> re.Pattern[str]:
    """Return what matches the addresses that are recorded: those of all servers but the live ones.

    Args:
        live: origins.
    """
    origins = "|".join(re.escape(origin.rstrip("/")) for origin in live)
    return re.compile(rf"^(?!(?:{origins})(?:[/?#]|$))https?:" if origins else "^https?:")


def make_recording(content: dict[str, Any], folder: Path, live: Sequence[str]) -> dict[str, Any]:
    """Return a recording as one file that pages can be answered from.

    Cookies and headers that log someone in are left out, and so are tokens and passwords.

    Args:
        content: what a browser recorded.
        folder: where it put the bodies of requests and replies.
        live: origins whose replies are left out.
    """
    # The record for graders is made of the same content.
    entries = copy.deepcopy(content["log"]["entries"])
    for entry in entries:
        for body in (entry["request"].get("postData"), entry["response"].get("content")):
            _embed(body, folder)
        for side in (entry["request"], entry["response"]):
            remove_logins(side)
            side["headers"] = [header for header in side.get("headers", ()) if header["value"] != REMOVED]
    safe: dict[str, Any] = remove_tokens({"log": {**content["log"], "entries": entries}})
    recorded, entries = match_recorded(live), safe["log"]["entries"]
    safe["log"]["entries"] = [entry for entry in entries if recorded.match(entry["request"]["url"])]
    return safe


def _embed(content: dict[str, Any] | None, folder: Path) -> None:
    """Put a body that was recorded next to the file into it: as text, or else in base 64."""
    file = take_attachment(content, folder)
    if content is None or file is None or not file.is_file():
        return
    data = file.read_bytes()
    try:
        content["text"] = data.decode()
    except UnicodeDecodeError:
        content["text"], content["encoding"] = base64.b64encode(data).decode(), "base64"


def format_recording(recording: dict[str, Any]) -> str:
    """Return the text of a recording's file."""
    log = {**recording["log"], "comment": _SIGNED + compute_digest(recording["log"]["entries"])}
    return json.dumps({"log": log}, ensure_ascii=False, indent=1) + "\n"


def read_recording(path: Path) -> dict[str, Any]:
    """Return the replies of servers that were recorded, as a HAR file's content.

    Raises:
        CassetteError: the file is missing, cut off or was edited.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        comment, entries = content["log"]["comment"], content["log"]["entries"]
    except FileNotFoundError:
        raise CassetteError(
            f"{format_path(path)}: there is no such recording of pages. {RECORD_AGAIN}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"is not a whole recording of pages: {type(error).__name__}: {error}"
        raise CassetteError(f"{format_path(path)}: {why}. {RECORD_AGAIN}") from None
    # In the comment: other readers of HAR files pass it over.
    if comment != _SIGNED + compute_digest(entries):
        raise refuse_edited(f"{format_path(path)}: the recording was edited: its entries are")
    return content
