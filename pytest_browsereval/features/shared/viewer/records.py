"""Console, traffic and other records of an attempt for its page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.dom import DOM_FOLDER, INERT
from pytest_browsereval.capture.downloads import INDEX, list_downloads
from pytest_browsereval.capture.har import HAR_FILE
from pytest_browsereval.capture.output import OUTPUT_FILE
from pytest_browsereval.capture.recording import CONSOLE_FILE
from pytest_browsereval.capture.trajectory import EVIDENCE_FILE
from pytest_browsereval.features.shared.viewer.attempts import ShownAttempt, list_names, names_in, read_lines
from pytest_browsereval.graders.base import find_requests
from pytest_browsereval.model.progress import PROGRESS_FILE
from pytest_browsereval.run_files import open_written

# Bytes; the page says how many are left out.
LONGEST_LOG = 32 << 20

# Bytes. It is four times what the capture writes.
LONGEST_CONSOLE = 4 << 20

# Bytes. It is twice what the capture keeps.
LONGEST_OUTPUT = 2_000_000

# Bytes. The whole file is parsed in memory.
LONGEST_HAR = 64 << 20

# Failed requests are shown first, as they explain an attempt.
MOST_REQUESTS = 300

MOST_DOWNLOADS = 200

# Characters: a `data:` address holds a whole picture.
LONGEST_ADDRESS = 1_000


# A page that stands alone leaves these out when they do not fit.
TEXTS = {"output": OUTPUT_FILE, "console": CONSOLE_FILE, "har": "requests", "progress": PROGRESS_FILE}


def details_of(attempt: ShownAttempt, *, is_served: bool = False) -> list[Any]:
    """Return the details of an attempt, in the places where the page's script looks for them.

    Args:
        attempt: what is stored of it.
        is_served: whether the dashboard serves it: pictures, and no other file.
    """
    log, left_out = read_lines(f"{attempt.folder}{os.sep}messages.jsonl", LONGEST_LOG)
    names = names_in(attempt.folder)
    records = records_of(attempt.folder, names.files, [] if is_served else names.folders)
    files = [] if is_served else names.files
    if attempt.cause is not None:
        records["cause"] = {"text": attempt.cause.describe(), "step": attempt.cause.step}
    return [attempt.text, log, files, names.pictures, left_out, attempt.problem, records]


def records_of(folder: str, files: Sequence[str], folders: Sequence[str]) -> dict[str, Any]:
    """Return output, console, requests and the names of the markup's copies; only what there is.

    Args:
        folder: of the attempt.
        files: the names of its files.
        folders: the names of its folders.
    """
    found: dict[str, Any] = {}
    for key, longest in (
        ("output", LONGEST_OUTPUT),
        ("console", LONGEST_CONSOLE),
        ("progress", LONGEST_OUTPUT),
    ):
        if TEXTS[key] in files:
            text, left = read_lines(f"{folder}{os.sep}{TEXTS[key]}", longest)
            found |= {key: text, **({f"{key}_left": left} if left else {})}
    for name, read in _READERS.items():
        if name in files and "har" not in found:
            found |= _requests(folder, name, read)
    if INDEX in files:
        listed = list_downloads(Path(folder))[:MOST_DOWNLOADS]
        found["downloads"] = [[one.name, one.size_bytes, one.problem] for one in listed]
    if DOM_FOLDER in folders:
        found["dom"] = _markup(f"{folder}{os.sep}{DOM_FOLDER}")
    return found


def without_texts(records: Mapping[str, Any]) -> dict[str, Any]:
    """Return the records without output, console and requests, for a page that has no room for them."""
    kept = {key: value for key, value in records.items() if key in ("dom", "cause", "downloads")}
    left = [name for key, name in TEXTS.items() if key in records]
    return {**kept, **({"note": f"Left out: {' and '.join(left)}."} if left else {})}


def _requests(folder: str, name: str, read: Callable[[Any], list[list[Any]] | None]) -> dict[str, Any]:
    try:
        with open_written(f"{folder}{os.sep}{name}") as opened:
            size = os.fstat(opened.fileno()).st_size
            data = opened.read(LONGEST_HAR + 1) if size <= LONGEST_HAR else b""
        if len(data) > LONGEST_HAR or not data:
            return {"har": [], "har_note": f"{name} has {size:,} bytes and is not shown."}
        rows = read(json.loads(data))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return {"har": [], "har_note": f"{name} is damaged and not shown."}
    if rows is None:
        return {}
    kept = _most_telling(rows)
    record: dict[str, Any] = {"har": kept}
    if left := len(rows) - len(kept):
        failed = sum(map(_has_failed, rows)) - sum(map(_has_failed, kept))
        of_these = f"{failed:,} of them failed" if failed else "none of them failed"
        record["har_note"] = f"{left:,} more requests are in {name}; {of_these}."
    return record


def _seen_request(entry: Mapping[str, Any]) -> list[Any]:
    """Return a request as a check has it, which knows no type, size and time of the answer."""
    return [
        datetime.fromtimestamp(float(entry["at"]), UTC).isoformat(),
        str(entry["method"])[:20],
        None if entry.get("unanswered") else int(_number(entry.get("status")) or 0),
        _short(str(entry["url"])),
        "",
        None,
        None,
        "",
    ]


def _read_evidence(evidence: Any) -> list[list[Any]] | None:
    requests = find_requests(evidence)
    return None if requests is None else [_seen_request(entry) for entry in requests]


def _request(entry: Mapping[str, Any]) -> list[Any]:
    request, response = entry["request"], entry["response"]
    content = response.get("content") or {}
    size = _number(content.get("size"))
    return [
        str(entry.get("startedDateTime", ""))[:40],
        str(request.get("method", ""))[:20],
        int(_number(response.get("status")) or 0),
        _short(str(request.get("url", ""))),
        str(content.get("mimeType", "")).partition(";")[0][:80],
        None if size is None or size < 0 else int(size),
        _duration(entry.get("time")),
        _short(str(response.get("_failureText") or ""), 200),
    ]


# A HAR file tells more of each.
_READERS: Mapping[str, Callable[[Any], list[list[Any]] | None]] = {
    HAR_FILE: lambda har: [_request(entry) for entry in har["log"]["entries"]],
    EVIDENCE_FILE: _read_evidence,
}


def _number(value: Any) -> float | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return value if is_one else None


def _duration(value: Any) -> float | None:
    number = _number(value)
    return None if number is None or number < 0 else round(number, 1)


def _short(text: str, longest: int = LONGEST_ADDRESS) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def _has_failed(row: Sequence[Any]) -> bool:
    return bool((row[2] is not None and not 0 < row[2] < 400) or row[7])


def _most_telling(rows: Sequence[list[Any]]) -> list[list[Any]]:
    """Return as many as are shown, in their order."""
    failed = [place for place, row in enumerate(rows) if _has_failed(row)]
    others = [place for place, row in enumerate(rows) if not _has_failed(row)]
    return [rows[place] for place in sorted((failed + others)[:MOST_REQUESTS])]


def _markup(folder: str) -> list[str]:
    """Return the copies that begin with the policy that stills them: a program may have put others there."""
    files, _ = list_names(folder)
    return [name for name in files if name.endswith(".html") and _is_inert(f"{folder}{os.sep}{name}")]


def _is_inert(file: str) -> bool:
    start = INERT.encode()
    try:
        with open_written(file) as opened:
            return opened.read(len(start)) == start
    except OSError:
        return False
