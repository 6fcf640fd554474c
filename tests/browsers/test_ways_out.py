"""No way leads out of ``allowed_origins``: a second server gets nothing. Without the option it gets all."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.tabs import Tabs
from pytest_browsereval.local_server import LocalHandler
from tests.support import Run, running, serving, until

# `U` stands for the address: of the other server, or of a page here that redirects there.
WAYS = {
    "fetch": "fetch(U).catch(() => 0)",
    "no-cors fetch": "fetch(U, {mode: 'no-cors'}).catch(() => 0)",
    "keepalive fetch": "fetch(U, {mode: 'no-cors', keepalive: true}).catch(() => 0)",
    "xhr": "const x = new XMLHttpRequest(); x.open('GET', U); x.send()",
    "beacon": "navigator.sendBeacon(U, 'x')",
    "image": "new Image().src = U",
    "style": "add('link', {rel: 'stylesheet', href: U})",
    "import of a style": "add('style', {textContent: `@import '${U}'`})",
    "font": "new FontFace('f', `url('${U}')`).load().catch(() => 0)",
    "script": "add('script', {src: U})",
    "module": "import(U).catch(() => 0)",
    "media": "add('video', {src: U})",
    "object": "add('object', {data: U})",
    "frame": "add('iframe', {src: U})",
    "event source": "new EventSource(U)",
    "prefetch": "add('link', {rel: 'prefetch', href: U})",
    "preload": "add('link', {rel: 'preload', as: 'script', href: U})",
    "form": "add('iframe', {name: 'at' + N}); "
    "add('form', {method: 'post', action: U, target: 'at' + N}).submit()",
    "pop-up": "open(U)",
    "navigation": "const w = open('about:blank'); setTimeout(() => { w.location = U })",
    "ping": "const a = add('a', {ping: U, href: '#', textContent: 'x'}); a.click()",
    "speculation, prefetch": "speculate('prefetch', U)",
    "speculation, prerender": "speculate('prerender', U)",
    "fetch of a worker": "work(`fetch('${U}', {mode: 'no-cors'}).catch(() => 0)`)",
    "script of a worker": "work(`importScripts('${U}')`)",
    "events of a worker": "work(`new EventSource('${U}')`)",
    "fetch of a shared worker": "share(`fetch('${U}', {mode: 'no-cors'}).catch(() => 0)`)",
}
DIRECT = {
    "socket": "new WebSocket(U.replace('http', 'ws'))",
    "socket of a worker": "work(`new WebSocket('${U}'.replace('http', 'ws'))`)",
    "socket of a shared worker": "share(`new WebSocket('${U}'.replace('http', 'ws'))`)",
    "encrypted fetch": "fetch(U.replace('http', 'https')).catch(() => 0)",
    "encrypted socket of a worker": "work(`new WebSocket('${U}'.replace('http', 'wss'))`)",
    "web transport": "ended.push(new WebTransport(U.replace('http', 'https')).closed.catch(() => 0))",
    "relay of a call": "call('turn:' + new URL(U).host + '?transport=tcp')",
    "call": "call('stun:' + new URL(U).host)",
    "service worker": "navigator.serviceWorker?.register('/service.js?' + U).catch(() => 0)",
}
HELPERS = """
const ended = [];
const add = (kind, fields) => document.body.appendChild(Object.assign(document.createElement(kind), fields));
const work = (code) => new Worker(URL.createObjectURL(new Blob([code])));
const share = (code) => new SharedWorker(URL.createObjectURL(new Blob([code])));
const speculate = (kind, url) => add('script', {type: 'speculationrules',
  textContent: JSON.stringify({[kind]: [{source: 'list', urls: [url], eagerness: 'immediate'}]})});
const call = async (url) => {
  const one = new RTCPeerConnection({iceServers: [{urls: url, username: 'u', credential: 'c'}]});
  one.createDataChannel('x');
  ended.push(new Promise((end) => { one.onicegatheringstatechange = () =>
    one.iceGatheringState === 'complete' && end() }));
  await one.setLocalDescription(await one.createOffer());
};
"""


class Listener:
    """Another server, which only notes what arrives."""

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self._ends = False
        self._tcp = socket.create_server(("127.0.0.2", 0))
        self.port: int = self._tcp.getsockname()[1]
        self.url = f"http://127.0.0.2:{self.port}"
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.2", self.port))
        self._threads = [threading.Thread(target=work) for work in (self._accept, self._receive)]
        for thread in self._threads:
            thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._tcp.accept()
            if self._ends:
                connection.close()
                return
            # Each on its own: Chromium opens some ahead and says nothing, and others would wait behind them.
            threading.Thread(target=self._listen, args=[connection], daemon=True).start()

    def _listen(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            try:
                said = connection.recv(4000)
            except OSError:
                said = b"nothing"
            self.arrived.append(said.decode("latin-1"))

    def _receive(self) -> None:
        while (said := self._udp.recvfrom(4000)[0]) != b"end":
            self.arrived.append(f"datagram {said!r}")

    def close(self) -> None:
        self._ends = True
        socket.create_connection(("127.0.0.2", self.port)).close()
        self._udp.sendto(b"end", ("127.0.0.2", self.port))
        for thread in self._threads:
            thread.join(20)
        self._tcp.close()
        self._udp.close()


@pytest.fixture
def other() -> Iterator[Listener]:
    """Another server."""
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def here(other: Listener) -> Iterator[str]:
    """A server with a page of all ways out, or of some behind ``?``; ``/307/NAME`` redirects to the other."""

    def page(only: str) -> bytes:
        tries = [
            (js, url)
            for number, (name, js) in enumerate([*WAYS.items(), *DIRECT.items()])
            for url in (
                f"{other.url}/direct-{number}",
                *(f"/{302 if number % 2 else 307}/redirected-{number}" for _ in (1,) if name in WAYS),
            )
            if not only or name in DIRECT or url.rpartition("/")[2] in only.split(",")
        ]
        code = "\n".join(
            f"try {{ ((U, N) => {{ {js} }})(new URL('{url}', location).href, {n}) }} catch {{}}"
            for n, (js, url) in enumerate(tries)
        )
        return f"<!doctype html><title>Out</title><body><script>{HELPERS}{code}</script>".encode()

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, _, name = self.path[1:].partition("/")
            to = self.path.partition("?")[2]
            if status in ("302", "307"):
                headers = {"Location": f"{other.url}/{name}", "Access-Control-Allow-Origin": "*"}
                self.send(int(status), "text/plain", b"", headers)
            elif self.path.startswith("/service.js"):
                self.send(200, "text/javascript", f"fetch('{to}', {{mode: 'no-cors'}})".encode())
            else:
                self.send(200, "text/html", page(to))

        do_POST = do_GET

    with serving(Handler) as url:
        yield url


def names(said: list[str]) -> set[str]:
    """Return which tries were seen, by the paths in what was said."""
    return {name for text in said for name in re.findall(r"(?:direct|redirected)-\d+", text)}


PLAIN = {f"{kind}-{n}" for n in range(len(WAYS)) for kind in ("direct", "redirected")}
SOCKETS = {f"direct-{len(WAYS) + n}" for n in range(3)}
RULES = {f"{kind}-{n}" for n, name in enumerate(WAYS) for kind in ("direct", "redirected") if "spec" in name}
"""Chromium does not begin these when a proxy is set."""


@pytest.mark.slow
def test_every_way_leads_out_where_all_is_allowed(run: Run, other: Listener, here: str) -> None:
    """The tries are real ones: without the option the other server hears of each."""
    with running(PlaywrightBrowserConfig(), run) as browser:

        async def course() -> None:
            window = await browser.open_window(WindowRequest("out", here))

            def missing() -> list[str]:
                return sorted((PLAIN | SOCKETS) - names(other.arrived))

            # Chromium gives up what it fetches ahead after 10 s, and on a busy machine all others come first.
            for _ in range(8):
                with suppress(TimeoutError):
                    await until(lambda: not missing(), 20)
                    break
                await window.context.pages[0].goto(f"{here}?{','.join(missing())}")
            assert missing() == []
            await until(lambda: sum(said.startswith("\x16\x03") for said in other.arrived) >= 2)  # TLS
            await until(lambda: any(said.startswith("\x00\x03") for said in other.arrived))  # TURN
            await until(lambda: any(said.startswith("datagram") for said in other.arrived))  # STUN, QUIC
            await window.close()

        run(course())


@pytest.mark.slow
def test_no_way_leads_out_of_the_allowed_origins(
    run: Run, other: Listener, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one request, socket or datagram gets to the other server, and a warning says so."""
    refused: list[str] = []
    warn = Tabs._warn_of

    def note(tabs: Tabs, url: str) -> str:
        refused.append(url)
        return warn(tabs, url)

    monkeypatch.setattr(Tabs, "_warn_of", note)
    host = other.url.removeprefix("http://")
    with running(PlaywrightBrowserConfig(allowed_origins=("https://shop.example",)), run) as browser:

        async def course() -> tuple[str, ...]:
            window = await browser.open_window(WindowRequest("out", here))
            wanted = PLAIN - RULES
            await until(lambda: names(refused) >= wanted)
            await until(lambda: refused.count(host) >= 5)  # a page, two workers, TLS of one, TURN
            await window.context.pages[0].evaluate("Promise.all(ended)")
            await window.close()
            return window.warnings

        warnings = run(course())
    assert other.arrived == []
    assert {f"{at} was blocked: it is not among the allowed origins." for at in (other.url, host)} <= {
        *warnings
    }
