"""A site that takes uploads and serves downloads, and what was said of each row's calls."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.model.messages import ToolResultMessage, UserMessage
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer


@pytest.fixture
def site(pages: PageServer) -> PageServer:
    """Return the page server with a place for uploads."""
    pages.page("/taken", "<h1>Taken</h1>")
    return pages


def act(name: str, url: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a row whose scripted agent makes these calls and says "right"."""
    return row(name, start_url=url, solution=[*calls, {"tool": "done", "answer": "right"}], **more)


def upload(files: Any, target: str | None = "#f") -> dict[str, Any]:
    return {"tool": "upload_file", "files": files, **({"target": target} if target else {})}


def said(run: EvalRun) -> dict[str, list[str]]:
    """Return what tools and harness said in each row, after the query."""
    found: dict[str, list[str]] = {}
    for attempt in (trial.last for trial in StoredRun(run.folder).trials):
        messages = [one for one in attempt.messages if isinstance(one, ToolResultMessage | UserMessage)]
        found[attempt.query_id] = [
            one.result["output"] if isinstance(one, ToolResultMessage) else one.content
            for one in messages[1:]
        ]
    return found


def play(evals: Evals, *rows: dict[str, Any], **keys: Any) -> EvalRun:
    """Run rows in real windows."""
    return evals.play(rows, **{"browser": "playwright", **keys})
