"""Rows that copy and paste: each has its own text, whatever runs beside it or ran before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_browsereval.local_server import LocalHandler
from tests.hooks.small_evals import Evals, row
from tests.support import serving

PAGE = """<!doctype html><title>Field</title><input aria-label=F><p id=seen></p><button>Copy</button>
<input type=button value=Paste onclick="navigator.clipboard.readText().then(
  (text) => document.querySelector('input').value += text, (why) => document.title = why.name)"><script>
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

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            path, _, who = self.path.partition("?")
            if path == "/copied":
                copied.append(f"{who} has copied")
            body = (PAGE if path == "/" else ", ".join(copied)).encode()
            self.send(200, "text/html" if path == "/" else "text/plain", body)

    with serving(Handler) as url:
        yield url


def key(name: str) -> dict[str, Any]:
    return {"tool": "press_key", "key": name, "target": FIELD}


COPY = (key("Control+A"), key("Control+C"))


def copies(text: str) -> list[dict[str, Any]]:
    return [{"tool": "fill", "target": FIELD, "text": text}, *COPY]


def field_row(name: str, url: str, ends_as: str, *calls: dict[str, Any]) -> dict[str, Any]:
    check = {"js": "document.querySelector('input').value", "equals": ends_as}
    solution = [*calls, {"tool": "done", "answer": "right"}]
    start = f"{url}/?{name}"
    return row(name, start_url=start, graders=["page_state"], checks=[check], solution=solution)


def sees(name: str) -> dict[str, Any]:
    return {"tool": "wait_for_text", "text": f"{name} has copied", "timeout_s": 30}


def shows(text: str) -> dict[str, Any]:
    return {"tool": "wait_for_text", "text": text, "timeout_s": 30}


def test_rows_that_run_at_once_paste_their_own_text(evals: Evals, site: str) -> None:
    """With two lanes each row pastes what it has copied itself, also by the page; the next one nothing."""
    appends = {"tool": "type_text", "target": FIELD, "text": "BBB"}
    click = {"tool": "click", "target": "text=Copy"}
    rows = [
        field_row("a", site, "SECRETASECRETA", *copies("SECRETA"), sees("b"), key("End"), key("Control+V")),
        field_row("b", site, "BBB", sees("a"), key("Control+V"), key("End"), appends, *COPY),
        field_row("c", site, "", key("Control+V")),
        field_row("d", site, "code of ?d", click, key("Control+V")),
    ]
    run = evals.play(rows, browser=PATIENT, lanes=2)
    run.assert_outcomes(passed=4)


def test_a_page_reads_the_clipboard_with_a_permission(evals: Evals, site: str) -> None:
    """By the asynchronous API, each row its own text beside the others; without a permission none."""
    paste = {"tool": "click", "target": "role=button[name='Paste']"}
    rows = [
        field_row("a", site, "ONEONE", *copies("ONE"), sees("b"), paste, shows("ONEONE")),
        field_row("b", site, "TWOTWO", *copies("TWO"), sees("a"), paste, shows("TWOTWO")),
    ]
    run = evals.play(rows, browser={**PATIENT, "context": {"permissions": ["clipboard-read"]}}, lanes=2)
    run.assert_outcomes(passed=2)
    check = {"js": "document.title", "equals": "NotAllowedError"}
    refused = [{**field_row("c", site, "", *copies("X"), paste), "checks": [check]}]
    evals.play(refused, browser=PATIENT).assert_outcomes(passed=1)
