"""Network traffic as a HAR file: what a real Chromium sent to a real site, and no cookie of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.webarena.verified.events import read_events
from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.har import HAR_FILE, TEXT_LIMIT_BYTES, record_traffic
from pytest_browsereval.features.cdp_browser.browser import CdpBrowserConfig
from pytest_browsereval.local_server import LocalHandler
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.redaction.marks import REMOVED
from tests.browsers.listening import Listening
from tests.features.cdp_browser.test_browser import PATIENT
from tests.support import Run, serving

FORM = """<title>Shop</title><form method=post action=/cart><input name=item value="Blue mug">
<input name=card value="card-4711"><button>Buy</button></form>"""
SEND = """async () => {
  const post = (body, headers) => fetch('/api/notes', {method: 'POST', body, headers});
  const headers = {'content-type': 'application/json', authorization: 'Bearer t-1'};
  await post(JSON.stringify({note: {text: 'hi'}}), headers);
  const form = new FormData();
  form.append('k', 'v w');
  await post(form);
  await (await fetch('/api/stars')).json();
}"""

NOTHING = Traffic()


@dataclass
class Shop:
    url: str
    cookies: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """A site that sets cookies, takes forms and answers with JSON."""
    shop = Shop("")
    cookies = {"Set-Cookie": "session=topsecret; Path=/", "set-cookie": "theme=dark; Path=/"}

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            shop.cookies.append(self.headers.get("cookie", ""))
            is_api = self.path.startswith("/api")
            kind, text = ("application/json", '{"stars": 5}') if is_api else ("text/html", FORM)
            self.send(200, kind, text.encode(), cookies)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, location = (302, {"Location": "/done"}) if self.path == "/cart" else (200, {})
            self.send(status, "text/plain", b"", {**cookies, **location})

    with serving(Handler) as shop.url:
        yield shop


async def buy(browser: Any, url: str, folder: Path, wanted: Traffic = NOTHING, **request: Any) -> None:
    """Use the shop in a window of its own while its traffic is recorded."""

    def redact(text: str) -> str:
        return text.replace("card-4711", "***")

    async with record_traffic(folder, wanted, redact) as har:
        window = await browser.open_window(WindowRequest("row", url, har=har, **request))
        assert isinstance(window, PlaywrightWindow)
        await window.page.evaluate(SEND)
        await window.page.click("button")
        await window.page.wait_for_url("**/done")
        await window.close()
    assert not har.parent.exists()


def requests_in(folder: Path) -> dict[str, Any]:
    return {f"{event.method} {event.url.split('/', 3)[3]}": event for event in read_events(folder / HAR_FILE)}


def test_what_was_sent_is_recorded_and_no_cookie(
    run: Run, browser: PlaywrightBrowser, shop: Shop, tmp_path: Path
) -> None:
    """Forms, JSON and multipart bodies are there; cookies, keys, secrets and replies are not."""
    run(buy(browser, shop.url, tmp_path))
    assert "session=topsecret; theme=dark" in shop.cookies  # they were sent
    seen = requests_in(tmp_path)
    assert seen["POST cart"].sent == {"item": "Blue mug", "card": "***"}
    assert seen["POST cart"].status == 302
    events = [event for event in read_events(tmp_path / HAR_FILE) if event.url.endswith("/api/notes")]
    assert [event.sent for event in events] == [{"note": {"text": "hi"}}, {"k": "v w"}]
    assert [event.headers.get("authorization") for event in events] == [REMOVED, None]
    assert events[0].headers["cookie"] == REMOVED
    assert seen["GET api/stars"].replied is None
    assert [name for name, event in seen.items() if event.is_navigation] == ["GET ", "GET done"]
    text = (tmp_path / HAR_FILE).read_text()
    for secret in ("topsecret", "dark", "t-1", "card-4711", 'stars\\": 5', "<form"):
        assert secret not in text, secret
    assert [file.name for file in tmp_path.iterdir()] == [HAR_FILE]


def test_what_a_grader_looks_at_is_kept(
    run: Run, browser: PlaywrightBrowser, shop: Shop, tmp_path: Path
) -> None:
    """A cookie that is no secret by its name, and replies in JSON."""
    run(buy(browser, shop.url, tmp_path, Traffic(replies=True, cookies=frozenset({"theme"}))))
    seen = requests_in(tmp_path)
    assert seen["GET api/stars"].replied == {"stars": 5}
    assert seen["GET api/stars"].headers["cookie"] == f"{REMOVED}; theme=dark"
    assert seen["GET done"].cookies == {"theme": "dark"}
    text = (tmp_path / HAR_FILE).read_text()
    assert "topsecret" not in text
    assert "<form" not in text


@pytest.mark.slow
def test_a_lent_browser_is_recorded_too(
    run: Run, browser: PlaywrightBrowser, shop: Shop, tmp_path: Path
) -> None:
    """One that programs of other processes attach to, which has a context that it began with."""
    run(buy(browser, shop.url, tmp_path, wants_cdp=True))
    assert requests_in(tmp_path)["POST cart"].sent == {"item": "Blue mug", "card": "***"}


@pytest.mark.slow
def test_a_browser_that_runs_already_is_recorded(
    run: Run, chromium: Listening, shop: Shop, tmp_path: Path
) -> None:
    """In contexts of the attempts' own; a shared one says that it cannot be."""

    async def course() -> None:
        own = CdpBrowserConfig(url=chromium.url, **PATIENT).build()
        await own.start()
        assert own.survey.no_har is None
        await buy(own, shop.url, tmp_path)
        await own.close()

    run(course())
    survey = run(CdpBrowserConfig(url=chromium.url, sessions="shared", **PATIENT).survey())
    assert "sessions: isolated" in str(survey.no_har)
    assert "POST cart" in requests_in(tmp_path)


def test_what_is_too_long_is_left_out(
    run: Run, browser: PlaywrightBrowser, shop: Shop, tmp_path: Path
) -> None:
    """A file that is sent up; and a window that never closed leaves nothing."""

    async def course() -> None:
        async with record_traffic(tmp_path, Traffic(), str) as har:
            window = await browser.open_window(WindowRequest("row", shop.url, har=har))
            body = f"'x'.repeat({TEXT_LIMIT_BYTES + 1})"
            await window.page.evaluate(f"() => fetch('/up', {{method: 'POST', body: {body}}})")
            await window.close()
        async with record_traffic(tmp_path / "none", Traffic(), str):
            pass

    run(course())
    (up,) = [event for event in read_events(tmp_path / HAR_FILE) if event.method == "POST"]
    assert f'"comment": "{TEXT_LIMIT_BYTES + 1} bytes are left out"' in (tmp_path / HAR_FILE).read_text()
    assert up.sent is None
    assert not (tmp_path / "none").exists()
