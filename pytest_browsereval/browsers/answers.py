"""Recorded replies that stand in for servers."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.base import RecordedAnswers

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Request

_DISPENSABLE = frozenset({"image", "media", "font", "texttrack", "manifest", "ping", "cspreport", "other"})
"""Kinds of requests without whose reply a page works: they may be told apart by a number that is made up."""


async def answer_from(context: BrowserContext, answers: RecordedAnswers) -> None:
    """Have the requests of a context answered from a recording; what was not recorded fails and is noted.

    Raises:
        OSError: the recording cannot be read.
        ValueError: it is no HAR file.
    """
    known = await asyncio.to_thread(_known, answers.har)

    def note(request: Request) -> None:
        if _is_live(request.url, answers) or (request.method, request.url) in known:
            return
        missed = answers.missed_parts if request.resource_type in _DISPENSABLE else answers.missed
        missed.append(f"{request.method} {request.url}")

    context.on("requestfailed", note)
    live = "|".join(re.escape(origin.rstrip("/")) for origin in answers.live)
    others = re.compile(rf"^(?!(?:{live})(?:[/?#]|$))https?:" if live else "^https?:")
    await context.route_from_har(answers.har, url=others, not_found="abort")


def _known(har: Path) -> set[tuple[str, str]]:
    entries = json.loads(har.read_bytes())["log"]["entries"]
    return {(entry["request"]["method"], entry["request"]["url"]) for entry in entries}


def _is_live(url: str, answers: RecordedAnswers) -> bool:
    is_of_a_server = url.startswith(("http:", "https:"))
    return not is_of_a_server or any(url.startswith(origin.rstrip("/") + "/") for origin in answers.live)
