"""Rows that copy and paste: each has its own text, whatever runs beside it or ran before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright import clipboard
from tests.hooks.small_evals import Evals, row
from tests.support import serving

PAGE = """<!doctype html><title>Field</title><input aria-label=F><p id=seen></p><button>Copy</button><script>
document.querySelector('button').onclick = () => navigator.clipboard.writeText(`code of ${location.search}`);
addEventListener('copy', () => setTimeout(() => fetch('/copied' + location.search), 0));
const look = async () => {
  seen.textContent = await (await fetch('/who')).text();
  setTimeout(look, 50);
};
look();
</script>"""
FIELD = "role=textbox[name='F']"
PATIENT = {"type": "playwright", "action_timeout_ms": 20_000}
"""A machine that runs other tests beside this one may take seconds for an exchange of the clipboard."""


@pytest.fixture
def site() -> Iterator[str]:
    """Serve a page on which each row sees which others have copied."""
    copied: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, who = self.path.partition("?")
            if path == "/copied":
                copied.append(f"{who} has copied")
            body = (PAGE if path == "/" else ", ".join(copied)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if path == "/" else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Stay silent."""

    with serving(Handler) as url:
        yield url


def key(name: str) -> dict[str, Any]:
    return {"tool": "press_key", "key": name, "target": FIELD}


def copies(text: str) -> list[dict[str, Any]]:
    return [{"tool": "fill", "target": FIELD, "text": text}, key("Control+A"), key("Control+C")]


def field_row(name: str, url: str, ends_as: str, *calls: dict[str, Any]) -> dict[str, Any]:
    check = {"js": "document.querySelector('input').value", "equals": ends_as}
    solution = [*calls, {"tool": "done", "answer": "right"}]
    start = f"{url}/?{name}"
    return row(name, start_url=start, graders=["page_state"], checks=[check], solution=solution)


def sees(name: str) -> dict[str, Any]:
    return {"tool": "wait_for_text", "text": f"{name} has copied", "timeout_s": 30}


@pytest.mark.slow
def test_rows_that_run_at_once_paste_their_own_text(evals: Evals, site: str) -> None:
    """With two lanes each row pastes what it has copied itself; one that copied nothing pastes nothing."""
    evals.write_rows(
        field_row("a", site, "SECRETASECRETA", *copies("SECRETA"), sees("b"), key("End"), key("Control+V")),
        field_row("b", site, "BBB", sees("a"), key("Control+V"), key("End"), *_appends("BBB")),
        field_row("c", site, "", key("Control+V")),
    )
    evals.write_config(browser=PATIENT, lanes=2)
    run = evals.run()
    verdicts = {attempt.query_id: str(attempt.verdict) for attempt in run.attempts}
    assert verdicts == {"a": "passed", "b": "passed", "c": "passed"}, json.dumps(verdicts)
    assert run.ret == 0


def _appends(text: str) -> list[dict[str, Any]]:
    return [{"tool": "type_text", "target": FIELD, "text": text}, key("Control+A"), key("Control+C")]


def test_a_copy_button_copies(evals: Evals, site: str) -> None:
    """As in a person's Chrome, a page may write to the clipboard after a click."""
    click = {"tool": "click", "target": "text=Copy"}
    evals.write([field_row("a", site, "code of ?a", click, key("Control+V"))], browser=PATIENT)
    assert evals.run().ret == 0


@pytest.mark.slow
def test_a_row_pastes_nothing_of_the_row_before(evals: Evals, site: str) -> None:
    """With one lane the clipboard of an attempt ends with it."""
    evals.write_rows(
        field_row("a", site, "SECRETASECRETA", *copies("SECRETA"), key("End"), key("Control+V")),
        field_row("c", site, "", key("Control+V")),
    )
    evals.write_config(browser=PATIENT)
    run = evals.run()
    assert {attempt.query_id: str(attempt.verdict) for attempt in run.attempts} == {
        "a": "passed",
        "c": "passed",
    }
    assert run.ret == 0


@pytest.mark.slow
def test_a_clipboard_that_does_not_come_is_no_failure_of_the_agent(
    evals: Evals, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt is errored, and says why, before the tool's own time is up."""

    async def hang(*_: Any) -> None:
        await asyncio.sleep(600)

    monkeypatch.setattr(clipboard, "_write", hang)
    evals.write([field_row("a", site, "", key("Control+V"))], browser="playwright")
    run = evals.run()
    (attempt,) = run.attempts
    assert str(attempt.verdict) == "errored"
    assert "clipboard could not be kept apart" in attempt.reason
    assert run.ret != 0
