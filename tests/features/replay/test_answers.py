"""Recorded replies that stand in for servers: a real site, recorded and gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.har import Keep, record_traffic
from pytest_browsereval.features.replay.answers import HarAnswers
from pytest_browsereval.features.replay.page_file import make_recording
from pytest_browsereval.local_server import LocalHandler
from pytest_browsereval.model.traffic import Traffic
from tests.support import PageServer, Run, serving

TOKEN = "eyJhbGciOi.J9.of+a/user"
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000030000000208060000009d74661a0000000d49444154789c636060606000000005"
    "0001a5f645400000000049454e44ae426082"
)


def keep_in(kept: list[dict[str, Any]]) -> Keep:
    return lambda content, folder: kept.append(make_recording(content, folder, ()))


LOGIN = """<!doctype html><title>Login</title><meta name=csrf-token content="csrf-of-this-visit">
<img src=/mug.png>
<form method=post action=/form><input name=user value=ann><input name=password><button>Go</button></form>
<script>
async function enter(password, live) {
  const csrf = document.querySelector('meta').content;
  const body = JSON.stringify({user: 'ann', password, csrf});
  const sent = await (await fetch('/login', {method: 'POST', body})).json();
  const query = new URLSearchParams({access_token: sent.token});
  const form = await (await fetch('/form-stock', {method: 'POST', body: query})).text();
  const first = await (await fetch('/stock?' + query)).text();
  const second = await (await fetch('/stock?access_token=' + live)).text();
  return [first, second, form].join(' and ');
}
</script>"""


@contextmanager
def logins() -> Iterator[str]:
    """A site with a password, a token in an address, a cookie, a picture and a form that redirects."""

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            page = {"/login": LOGIN.encode(), "/done": b"<title>Thanks</title>", "/mug.png": PICTURE}
            kind = "image/png" if self.path == "/mug.png" else "text/html"
            self.answer(page.get(self.path.partition("?")[0], b"3 left"), kind)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/form":
                self.answer(b"", location="/done?access_token=fragment-token-1")
            elif self.path == "/form-stock":
                self.answer(b"3 left")
            else:
                self.answer(json.dumps({"token": TOKEN}).encode(), kind="application/json")

        def answer(self, data: bytes, kind: str = "text/html", location: str = "") -> None:
            moved = {"location": location} if location else {}
            cookie = {"set-cookie": "session=topsecret; Path=/"}
            self.send(302 if moved else 200, kind, data, cookie | moved)

    with serving(Handler) as url:
        yield url


async def visited(browser: PlaywrightBrowser, url: str, live: str, **traffic: Any) -> list[Any]:
    """Log in by a script and by a form; return what was seen."""
    window = await browser.open_window(WindowRequest("row", f"{url}/login", **traffic))
    assert isinstance(window, PlaywrightWindow)
    page = window.page
    await page.wait_for_function("document.querySelector('img').complete")
    seen = [await page.evaluate(f"enter('{live}', '{live}')")]
    seen += await page.evaluate("[document.querySelector('img').naturalWidth, document.cookie]")
    await page.fill("[name=password]", live)
    await page.press("[name=password]", "Enter")
    await page.wait_for_url("**/done*")
    seen += [await page.title(), await page.evaluate("location.search.startsWith('?access_token=')")]
    await window.close()
    return seen


def recording(run: Run, browser: PlaywrightBrowser, folder: Path) -> tuple[str, list[Any], Path]:
    """Record the site; return its address, what was seen, and the file of the recording."""
    kept: list[dict[str, Any]] = []

    async def record(url: str) -> list[Any]:
        async with record_traffic(folder, Traffic(), str, keep_in(kept)) as har:
            return await visited(browser, url, "then-mug-12345", har=har)

    with logins() as url:
        seen = run(record(url))
    (folder / "answers.har").write_text(json.dumps(kept[0]))
    return url, seen, folder / "answers.har"


def test_logins_are_met_by_what_was_recorded_without_them(
    run: Run, browser: PlaywrightBrowser, tmp_path: Path
) -> None:
    """Passwords and tokens in addresses, JSON and forms, also other ones than those of the recording."""
    url, seen, har = recording(run, browser, tmp_path)
    entered, width, cookie, *rest = seen
    assert (entered, width, cookie) == ("3 left and 3 left and 3 left", 3, "session=topsecret")
    assert rest == ["Thanks", True]
    text = har.read_text()
    for secret in (TOKEN, "then-mug-12345", "csrf-of-this-visit", "fragment-token-1", "topsecret"):
        assert secret not in text
    for live in ("then-mug-12345", "now-cup-987654"):
        answers = HarAnswers(har)
        again = run(visited(browser, url, live, answers=answers))
        assert again == [entered, width, "", *rest]
        assert (answers.missed, answers.missed_parts) == ([], [])


def test_what_was_not_recorded_fails_and_is_told(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Requests that a page needs apart from those that it can do without; sites of the config are asked."""
    url, _, har = recording(run, browser, tmp_path)
    answers = HarAnswers(har, live=(pages.url,))
    local = pages.page("/local", "<title>Local</title>")

    async def visit() -> None:
        window = await browser.open_window(WindowRequest("row", url + "/login", answers=answers))
        assert isinstance(window, PlaywrightWindow)
        page = window.page
        failed = await page.evaluate("fetch('/api/other', {method: 'DELETE'}).catch((error) => 'failed')")
        assert failed == "failed"
        await page.evaluate(
            "new Promise((done) => { const one = new Image(); one.onerror = done; one.src = '/other.png' })"
        )
        await window.goto(local)
        assert await page.title() == "Local"
        await window.close()

    run(visit())
    assert answers.missed == [f"DELETE {url}/api/other"]
    assert answers.missed_parts == [f"GET {url}/other.png"]
    assert pages.requests.count("/local") == 1


SENDING = """([path, body]) =>
  fetch(path, {method: 'POST', body}).then(() => 'answered', () => 'failed')"""
FILE = """() => {
  const form = new FormData();
  form.append('list', new Blob(['mugs']), 'list.txt');
  return fetch('/upload', {method: 'POST', body: form}).then(() => 'answered', () => 'failed');
}"""


async def send(browser: PlaywrightBrowser, url: str, *calls: Any, **traffic: Any) -> list[Any]:
    """Have a page send things; return what came of each."""
    window = await browser.open_window(WindowRequest("row", url, **traffic))
    assert isinstance(window, PlaywrightWindow)
    seen = [
        await window.page.evaluate(FILE if call is FILE else SENDING, None if call is FILE else call)
        for call in calls
    ]
    await window.close()
    return seen


def replayed(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, folder: Path, *, then: list[Any], now: list[Any]
) -> tuple[list[Any], HarAnswers]:
    """Record what a page sends and have it send other things in a replay; return what came of these."""
    url = pages.page("/", "<title>Shop</title>")
    kept: list[dict[str, Any]] = []
    pages.page("/moved", "", status=302, headers={"location": "/elsewhere"})

    async def record() -> None:
        async with record_traffic(folder, Traffic(), str, keep_in(kept)) as har:
            await send(browser, url, *then, har=har)

    run(record())
    entries = [entry for entry in kept[0]["log"]["entries"] if "elsewhere" not in entry["request"]["url"]]
    (folder / "answers.har").write_text(json.dumps({"log": {**kept[0]["log"], "entries": entries}}))
    answers = HarAnswers(folder / "answers.har")
    return run(send(browser, url, *now, answers=answers)), answers


def test_another_body_to_the_same_address_was_not_recorded(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """The page gets no reply, nor where a recorded redirect leads; a form with a file has a new boundary."""
    then = [["/search", "mugs"], FILE, ["/moved", ""]]
    now = [*then, ["/search", "cups"]]
    seen, answers = replayed(run, browser, pages, tmp_path, then=then, now=now)
    assert seen == ["answered", "answered", "failed", "failed"]
    assert answers.missed == [f"POST {pages.url}/moved", f"POST {pages.url}/search with another body"]
    assert answers.missed_parts == []
