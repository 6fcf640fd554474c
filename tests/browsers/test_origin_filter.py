"""The proxy in front of a window with ``allowed_origins``: what is allowed passes as if it were not there."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.origin_filter import OriginFilter
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins
from pytest_browsereval.features.cdp_browser.browser import CdpBrowserConfig
from pytest_browsereval.features.replay.answers import HarAnswers
from tests.browsers.listening import Listening
from tests.support import PageServer, Run, configured

LOOPBACK = ("http://127.0.0.1:*",)
PLAIN = WindowRequest("filtered")


class Lines:
    """A server of this loop that answers each connection by a function of its test."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.heads: list[str] = []

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Listen; yields the port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            await self._answer(head, reader, writer)
        except EOFError:
            pass
        finally:
            writer.close()


async def echo_socket(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Shake hands as a web socket does and say hello."""
    key = head.split("Sec-WebSocket-Key: ")[1].split("\r\n", maxsplit=1)[0]
    accept = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()  # noqa: S324
    told = base64.b64encode(accept).decode()
    upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    writer.write(f"{upgrade}Sec-WebSocket-Accept: {told}\r\n\r\n".encode() + b"\x81\x05hello")
    await reader.read(1)


def test_what_is_allowed_passes(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """Pages, bodies of any size, many requests to several servers and streams are as without the filter."""
    other = PageServer("127.0.0.1")
    big = "x" * 3_000_000
    pages.page("/start", "<!doctype html><title>Start</title>")
    other.page("/big", big, headers={"Access-Control-Allow-Origin": "*"})
    other.page("/events", "data: one\n\ndata: two\n\n", media_type="text/event-stream",
               headers={"Access-Control-Allow-Origin": "*"})  # fmt: skip
    script = """async ([here, other]) => {
      const text = async (url, options) => (await (await fetch(url, options)).text()).length;
      const urls = Array.from({length: 30}, (_, n) => n % 2 ? other + '/big' : here);
      const many = await Promise.all(urls.map((url) => text(url)));
      const sent = await text(other + '/big', {method: 'POST', body: 'y'.repeat(2e6)});
      const events = await new Promise((end) => {
        const seen = [], source = new EventSource(other + '/events');
        source.onmessage = ({data}) => {
          seen.push(data);
          if (data === 'two') { source.close(); end(seen) }
        };
      });
      return [new Set(many).size, sent, events];
    }"""

    async def use() -> None:
        window = await browser.open_window(replace(PLAIN, start_url=f"{pages.url}/start"))
        assert window.place.origins is not None
        seen = await window.page.evaluate(script, [f"{pages.url}/start", other.url])
        assert seen == [2, len(big), ["one", "two"]]
        assert window.warnings == ()
        port = window.place.origins.options["proxy"]["server"].rpartition(":")[2]
        await window.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", int(port))

    with configured(browser, allowed_origins=LOOPBACK):
        run(use())
    other.close()


def test_sockets_to_allowed_origins_pass(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """Web sockets of pages and of workers open and carry messages."""
    url = pages.page("/start", "<!doctype html><title>Start</title>")
    script = """(url) => Promise.all([
      new Promise((end) => { new WebSocket(url).onmessage = (event) => end(event.data) }),
      new Promise((end) => {
        const code = `new WebSocket('${url}').onmessage = (event) => postMessage(event.data)`;
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = (event) => end(event.data) })])"""

    async def use() -> None:
        async with Lines(echo_socket).listening() as port:
            window = await browser.open_window(replace(PLAIN, start_url=url))
            assert await window.page.evaluate(script, f"ws://127.0.0.1:{port}/") == ["hello", "hello"]
            await window.close()

    with configured(browser, allowed_origins=LOOPBACK):
        run(use())


def test_traffic_is_recorded_and_answered_from_a_recording(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """A HAR file has what passed the filter, and its replies stand in for the server."""
    url = pages.page("/recorded", "<!doctype html><title>Recorded</title>")
    har = tmp_path / "all.har"

    async def use() -> None:
        request = replace(PLAIN, start_url=url, har=har)
        await (await browser.open_window(request)).close()
        entries = json.loads(har.read_text())["log"]["entries"]
        assert [(entry["request"]["url"], entry["response"]["status"]) for entry in entries] == [(url, 200)]
        pages.page("/recorded", "<title>Live</title>")
        asked = len(pages.requests)
        replayed = await browser.open_window(replace(request, har=None, answers=HarAnswers(har)))
        assert await replayed.page.title() == "Recorded"
        assert len(pages.requests) == asked
        await replayed.close()

    with configured(browser, allowed_origins=LOOPBACK):
        run(use())


# -- the filter itself


@asynccontextmanager
async def filtering(*patterns: str) -> AsyncIterator[tuple[OriginFilter, int]]:
    origins = await OriginFilter(AllowedOrigins.parse(patterns)).start()
    try:
        yield origins, int(origins.options["proxy"]["server"].rpartition(":")[2])
    finally:
        await origins.close()


async def say(port: int, head: str) -> bytes:
    """Send the head of a request and return all that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return answer


async def hello(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del head, reader
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")


def test_encrypted_traffic_passes_by_its_host(run: Run) -> None:
    """A tunnel to an allowed host carries bytes as they are; others and nonsense are refused."""

    async def use() -> None:
        async with Lines(hello).listening() as server, filtering(f"https://127.0.0.1:{server}") as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.write(b"anything\r\n\r\n")
            assert (await reader.read()).endswith(b"hello")
            writer.close()
            assert (await say(port, "CONNECT 127.0.0.1:9 HTTP/1.1")).startswith(b"HTTP/1.1 403 ")
            for nonsense in ("nonsense", "GET /path HTTP/1.1", "GET ftp://127.0.0.1/ HTTP/1.1"):
                assert await say(port, nonsense) == b""

    run(use())


def test_the_proxy_of_the_machine_is_used(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is allowed goes on by HTTP_PROXY and HTTPS_PROXY, with their user, as browsers do."""

    async def use() -> None:
        outer = Lines(hello)
        async with outer.listening() as at, filtering("*.shop.example") as (_, port):
            for name in ("http_proxy", "https_proxy"):
                monkeypatch.setenv(name, f"http://me:secret@127.0.0.1:{at}")
            monkeypatch.setenv("no_proxy", "")
            answer = await say(port, "GET http://a.shop.example/x HTTP/1.1\nHost: a.shop.example")
            assert answer.endswith(b"\r\nConnection: close\r\n\r\nhello")
            await say(port, "CONNECT a.shop.example:443 HTTP/1.1")
        lines = [head.split("\r\n") for head in outer.heads]
        assert [one[0] for one in lines] == [
            "GET http://a.shop.example/x HTTP/1.1",
            "CONNECT a.shop.example:443 HTTP/1.1",
        ]
        user = f"Proxy-Authorization: Basic {base64.b64encode(b'me:secret').decode()}"
        assert all(user in one for one in lines)

    run(use())


# -- a browser that runs already


@pytest.mark.slow
def test_an_attached_browser_is_filtered(run: Run, chromium: Listening, pages: PageServer) -> None:
    """As one that is launched."""
    other = PageServer("127.0.0.2")
    pages.page("/away", "", status=302, headers={"Location": f"{other.url}/"})
    url = pages.page("/start", "<!doctype html><title>Start</title>")
    config = CdpBrowserConfig(url=chromium.url, allowed_origins=("https://shop.example",))

    async def use() -> None:
        attached = config.build()
        await attached.start()
        window = await attached.open_window(replace(PLAIN, start_url=url))
        assert await window.page.title() == "Start"
        await window.page.evaluate("fetch('/away', {mode: 'no-cors'}).catch(() => 0)")
        assert other.requests == []
        await attached.close()

    run(asyncio.wait_for(use(), 60))
    other.close()


@pytest.mark.parametrize("arg", ["--host-resolver-rules=MAP a b", "--proxy-server=http://127.0.0.1:9"])
def test_switches_that_the_filter_would_undo_are_refused(arg: str) -> None:
    """They would have no effect, so that the run says so before it begins."""
    with pytest.raises(ValueError, match=r"no effect with allowed_origins.*HTTP_PROXY"):
        PlaywrightBrowserConfig(allowed_origins=("a.test",), args=(arg,))
    assert PlaywrightBrowserConfig(args=(arg,)).args == (arg,)
