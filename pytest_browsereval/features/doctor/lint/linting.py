"""All rules over all rows of a config; with ``--online`` their start pages are asked as well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Row
from pytest_browsereval.features.doctor.lint.loading import Loaded, load
from pytest_browsereval.features.doctor.lint.rules import RULES, ask_runs
from pytest_browsereval.registry import Registry
from pytest_browsereval.runs.run import StoredRun

if TYPE_CHECKING:
    from httpx import AsyncClient


async def lint(
    config: EvalConfig,
    registry: Registry,
    *,
    today: date,
    runs: Iterable[StoredRun] = (),
    online: bool = False,
    loaded: Loaded | None = None,
) -> tuple[Finding, ...]:
    """Return what is wrong or doubtful about the rows of a config, errors first, then as in the files.

    Args:
        config: its datasets are read, its graders and sites known.
        registry: where rows look their graders up.
        today: what dates are compared with.
        runs: earlier ones.
        online: True asks the start pages whether they are still there.
        loaded: the rows, where they were read already.

    Raises:
        UsageError: a file of a run is damaged.
    """
    loaded = loaded or load(config, registry)
    given = Given(config, today)
    findings = list(loaded.findings)
    findings += (found for row in loaded.rows for rule in RULES for found in rule(row, given))
    findings += ask_runs(loaded.rows, runs)
    if online:
        findings += await ask_pages(loaded.rows)
    return tuple(sorted(findings, key=lambda found: list(Level).index(found.level)))


# For one page.
TIMEOUT_S = 15.0

# More requests at once look like an attack to some sites.
AT_ONCE = 8

# Some sites answer 403 to clients that do not call themselves a browser.
_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"

_GONE = (404, 410, 451)
_NEEDS_LOGIN = 401
_BROKEN = 500


async def ask_pages(rows: Iterable[Row]) -> list[Finding]:
    """Return what is wrong with the start pages, each asked once however many rows begin there."""
    import httpx

    limit = asyncio.Semaphore(AT_ONCE)
    asked = [row for row in rows if _is_page(row.task.start_url or "")]
    urls = list(dict.fromkeys(str(row.task.start_url) for row in asked))
    headers = {"User-Agent": _AGENT}
    async with httpx.AsyncClient(follow_redirects=True, timeout=TIMEOUT_S, headers=headers) as client:

        async def ask(url: str) -> int | str:
            async with limit:
                return await ask_url(client, url)

        answers = dict(zip(urls, await asyncio.gather(*map(ask, urls)), strict=True))
    return [found for row in asked for found in _judge_answer(row, answers[str(row.task.start_url)])]


def _is_page(url: str) -> bool:
    return urlsplit(url).scheme in ("http", "https") and "{" not in url


async def ask_url(client: AsyncClient, url: str, **options: Any) -> int | str:
    """Return the status that a server answers, or why it does not answer."""
    import httpx

    try:
        async with asyncio.timeout(TIMEOUT_S), client.stream("GET", url, **options) as response:
            return response.status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
        return str(error) or type(error).__name__


def _judge_answer(row: Row, answer: int | str) -> Iterator[Finding]:
    what = "does not answer:" if isinstance(answer, str) else "answers with the status"
    message = f"{row.task.start_url} {what} {answer}."
    if isinstance(answer, str) or answer in _GONE:
        yield row.error("dead-url", message, "Name another start page, or leave the row out.")
    elif answer == _NEEDS_LOGIN or answer >= _BROKEN:
        yield row.warning("dead-url", message, "Prepare an account, look again later, or leave the row out.")
