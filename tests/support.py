"""What the tests of browsers, tools and captures share: a loop, a page server, a browser, a visit."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psutil
import pytest

from pytest_browsereval.browsers.base import PictureFormat, Tab, Window
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.contexts import PageOptions
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.local_server import LocalHandler, LocalServer
from pytest_browsereval.tools.base import Tool, ToolResult
from pytest_browsereval.tools.runner import WindowToolRunner
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkits import resolve_tools
from tests import forks

T = TypeVar("T")

PATIENCE_S = 20.0
"""How long what should happen in a page may take: a machine under load; nothing waits that long by itself."""
REFUSAL_S = 2.0
"""How long a call waits that has to refuse: the page is looked at by then, also under load."""
LEFT_OUT = forks.LEFT_OUT
WITH_RERUNS = LEFT_OUT[:-2]
WITH_NEIGHBOURS = LEFT_OUT[:-6] + LEFT_OUT[-2:]
"""For tests of pytest-split and pytest-timeout."""


class Run(Protocol):
    """Runs a coroutine on the loop that owns the browser."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


@dataclass(frozen=True)
class Answer:
    """What the page server says."""

    body: bytes
    status: int = 200
    media_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def run_program(
    command: Sequence[str | Path], *, cwd: Path, env: dict[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    One that hangs is asked where: each of its Python processes prints the stacks of its threads, and the test
    fails with all that was printed.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**env, "PYTHONFAULTHANDLER": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGABRT)
        out, err = process.communicate(timeout=PATIENCE_S)
        pytest.fail(f"still running after {limit_s:g} s: {command}\n{out}\n{err}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


async def until(holds: Callable[[], object], limit_s: float = 60.0) -> None:
    """Wait until something is true; for what gives no event to wait for."""
    async with asyncio.timeout(limit_s):
        while not holds():  # noqa: ASYNC110 -- see above
            await asyncio.sleep(0.02)


def has_ended(pid: int) -> bool:
    """Whether a process has gone. One that was killed needs a moment for it: ask by :func:`until`."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def pass_time(seconds: float) -> None:
    """Let the running loop believe that so many seconds have gone by.

    So a limit that is to be met can be a long one, which nothing else meets on a machine that is busy.
    """
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]


class PageServer:
    """A local web server whose pages a test writes down."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.requests: list[str] = []
        """The paths that were asked for."""
        self._answers: dict[str, Answer] = {}
        pages = self

        class Handler(LocalHandler):
            def do_GET(self) -> None:
                pages.answer(self)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                pages.answer(self)

        self._server = LocalServer(Handler, host=host).start()
        self.port = self._server.server_port
        self.url = self._server.url

    def page(
        self,
        path: str,
        body: str | bytes,
        *,
        status: int = 200,
        media_type: str = "text/html; charset=utf-8",
        headers: dict[str, str] | None = None,
        delay_s: float = 0.0,
    ) -> str:
        """Serve something under a path and return its address."""
        data = body if isinstance(body, bytes) else body.encode()
        self._answers[path] = Answer(data, status, media_type, headers or {}, delay_s)
        return self.url + path

    def answer(self, request: LocalHandler) -> None:
        """Answer one request."""
        self.requests.append(request.path)
        answer = self._answers.get(request.path.partition("?")[0], Answer(b"<p>Nothing here.", status=404))
        time.sleep(answer.delay_s)
        request.send(answer.status, answer.media_type, answer.body, answer.headers)

    def forget(self) -> None:
        """Serve no page any more, and forget who has asked."""
        self._answers.clear()
        self.requests.clear()

    def close(self) -> None:
        """Stop serving."""
        self._server.close()


class StillWindow(Window):
    """A window of no browser: its pictures are what a test says they are."""

    window_id = 1
    tab_id = 1
    dead: str | None = None

    def __init__(self, url: str = "http://shop.test/") -> None:
        self.pictures: list[bytes | Exception] = []
        """What the next pictures are; afterwards each is one byte."""
        self.taken: list[tuple[PictureFormat, int]] = []
        self._url = url
        self.told: tuple[str, ...] = ()
        """Its warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.told

    @property
    def url(self) -> str:
        return self._url

    async def tabs(self) -> list[Tab]:
        return []

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        await asyncio.sleep(0)
        self.taken.append((picture, quality))
        data = self.pictures.pop(0) if self.pictures else b"."
        if isinstance(data, Exception):
            raise data
        return data

    async def close(self) -> None:
        """Nothing to close."""


class Visit:
    """A window with its tools, called from a synchronous test."""

    def __init__(self, run: Run, window: PlaywrightWindow, capture: CaptureContext, tools: Toolbox) -> None:
        self.run = run
        self.window = window
        self.capture = capture
        self.tools = tools

    def call(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool."""
        return self.run(self.tools.call(name, arguments))

    def output(self, name: str, **arguments: Any) -> str:
        """Call a tool that has to succeed."""
        result = self.call(name, **arguments)
        assert result.ok, result.output
        return result.output

    def refusal(self, name: str, **arguments: Any) -> str:
        """Call a tool that has to refuse, which need not wait for long."""
        before = self.window.rules.action_s
        self.limit(action_s=min(before, REFUSAL_S))
        result = self.call(name, **arguments)
        self.limit(action_s=before)
        assert not result.ok, result.output
        return result.output

    def limit(self, **seconds: float) -> None:
        """Give the window other limits; see ``WindowRules``."""
        for name, value in seconds.items():
            object.__setattr__(self.window.rules, name, value)
        self.window.context.set_default_timeout(self.window.rules.action_s * 1000)
        self.window.context.set_default_navigation_timeout(self.window.rules.navigation_s * 1000)

    def logged(self, kind: type[T]) -> list[T]:
        """Return the messages of one kind."""
        return [message for message in self.capture.messages.messages if isinstance(message, kind)]

    def js(self, expression: str) -> Any:
        """Evaluate JavaScript in the current tab."""
        return self.run(self.window.page.evaluate(expression))


Visits = Callable[..., Visit]


@contextmanager
def running(config: PlaywrightBrowserConfig, run: Run) -> Iterator[PlaywrightBrowser]:
    """Run a browser of the test's own."""
    browser = config.build()
    run(browser.start())
    try:
        yield browser
    finally:
        run(browser.close())


@contextmanager
def configured(browser: PlaywrightBrowser, **options: Any) -> Iterator[None]:
    """Let windows open with other options; cheaper than a browser of the test's own."""
    before = browser.config
    browser.config = PlaywrightBrowserConfig(**{**before.model_dump(), **options})
    try:
        yield
    finally:
        browser.config = before


@contextmanager
def visiting(
    run: Run,
    browser: PlaywrightBrowser,
    folder: Path,
    url: str | None,
    *,
    tools: tuple[Tool, ...] | None = None,
    **capture_options: Any,
) -> Iterator[Visit]:
    """Open a window at an address, with all tools on and pictures off unless told otherwise."""
    manager = WindowManager(browser)
    window = run(manager.create_window("visit", url))
    assert isinstance(window, PlaywrightWindow)
    options: dict[str, Any] = {"screenshots": "off", **capture_options}
    capture = CaptureContext(CaptureContextConfig(folder, **options), window)
    chosen = resolve_tools({"scripting": True}) if tools is None else tools
    visit = Visit(run, window, capture, Toolbox(chosen, WindowToolRunner(window), capture))
    visit.limit(load_s=PATIENCE_S, title_s=PATIENCE_S, picture_s=PATIENCE_S)
    try:
        yield visit
    finally:
        capture.close()
        run(manager.close_all())


# -- a fixture, taken over by the conftest.py of the folders that need it


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all windows wait as long as a machine under load may need, however they are opened."""
    rules = PageOptions.rules
    longer: dict[str, Any] = dict.fromkeys(("load_s", "title_s", "picture_s", "close_s"), PATIENCE_S)
    monkeypatch.setattr(PageOptions, "rules", lambda config, url: replace(rules(config, url), **longer))


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve by a handler while the block runs; yields the address, without a slash at its end."""
    with LocalServer(handler) as server:
        yield server.url
