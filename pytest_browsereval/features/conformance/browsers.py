"""The conformance suite for browsers: what every attempt relies on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_browsereval.browsers.base import Browser, BrowserConfig, PictureFormat, WindowRequest
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.conformance.site import ConformanceSite

T = TypeVar("T")

# The parts of a test have shorter limits of their own, which say what was late.
LIMIT_S = 120.0


_MARKS: dict[PictureFormat, bytes] = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n", "webp": b"WEBP"}
"""Bytes at the beginning of a picture that tell its format."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of its own, with a limit: one that hangs must not hang the author's tests."""
    return asyncio.run(asyncio.wait_for(work, LIMIT_S))


class Kept:
    """A loop, and the browser that the tests of a class share as long as their config is the same."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._config: BrowserConfig | None = None
        self._browser: Browser | None = None

    def run(self, config: BrowserConfig, work: Callable[[Browser], Coroutine[Any, Any, T]]) -> T:
        """Await what a function makes of a running browser, with a limit; if it fails, the browser ends."""
        return self._runner.run(asyncio.wait_for(self._run(config, work), LIMIT_S))

    async def _run(self, config: BrowserConfig, work: Callable[[Browser], Coroutine[Any, Any, T]]) -> T:
        if self._browser is None or self._config != config:
            await self._end()
            self._browser, self._config = config.prepare(Path.cwd()).build(), config
            await self._browser.start()
        try:
            return await work(self._browser)
        except BaseException:
            await self._end()
            raise

    def end(self) -> None:
        """End the browser."""
        self._runner.run(asyncio.wait_for(self._end(), LIMIT_S))

    async def _end(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.close()


@contextmanager
def keep_browser() -> Iterator[Kept]:
    """Yield what keeps a browser while the block runs."""
    with asyncio.Runner() as runner:
        yield (kept := Kept(runner))
        kept.end()


class Conformance:
    """What the suites have in common."""

    @pytest.fixture
    def config(self) -> Any:
        """Return the block to try: yours."""
        raise NotImplementedError(f"give {type(self).__name__} a fixture `config` that returns the block")

    @pytest.fixture
    def site(self) -> Iterator[ConformanceSite]:
        """Return the site that windows open, and tasks are about."""
        with ConformanceSite() as site:
            yield site

    @pytest.fixture(scope="class")
    @classmethod
    def kept(cls) -> Iterator[Kept]:
        """Return what keeps a browser for the next test."""
        with keep_browser() as kept:
            yield kept


class BrowserConformance(Conformance):
    """Derive a test class from it, give it a ``config``, and pytest runs the tests.

    Tests that are not about its start share a browser if the fixture returns equal configs. The browser has
    to reach a site on this machine's loopback interface::

        class TestAcmeBrowser(BrowserConformance):
            @pytest.fixture
            def config(self):
                return AcmeBrowserConfig(endpoint="...")
    """

    def test_its_config_is_a_member(self, config: BrowserConfig) -> None:
        """The class names its type, and its JSON reads back as the same block, without secrets."""
        assert config.family == "browser"
        assert config.type == type(config).type_name()
        text = config.model_dump_json()
        for secret in config.secrets():
            assert secret not in text, "a secret is in the block's JSON: use SecretStr"
        if not config.secrets():
            assert type(config).model_validate_json(text) == config

    def test_what_it_says_beforehand_is_true(self, config: BrowserConfig) -> None:
        """Asked before a run and once started, it says the same; closing twice is harmless."""

        async def work() -> None:
            before = await config.prepare(Path.cwd()).survey()
            browser = config.prepare(Path.cwd()).build()
            await browser.start()
            try:
                assert browser.description.strip(), "the header and the manifest need a description"
                assert browser.survey.max_windows == before.max_windows
                assert browser.survey.tools == before.tools
            finally:
                await browser.close()
                await browser.close()
            assert (before.tools is not None) == config.brings_tools
            names = [tool.name for tool in before.tools or ()]
            assert len(names) == len(set(names)), f"tools share a name: {names}"

        run(work())

    def test_a_window_opens_at_its_start_page(
        self, config: BrowserConfig, kept: Kept, site: ConformanceSite
    ) -> None:
        """The page was fetched, the address and the current tab are known, and closing twice is harmless.

        With ``has_page`` windows are Playwright's: built-in tools, graders and captures rely on it.
        """

        async def work(browser: Browser) -> None:
            window = await browser.open_window(WindowRequest("row", f"{site.url}/"))
            promised = f"has_page is {config.has_page}, and a window is a {type(window).__name__}"
            assert isinstance(window, PlaywrightWindow) == config.has_page, promised
            assert site.cookies("/") == [""]
            assert window.url == f"{site.url}/"
            assert [tab.url for tab in await window.tabs() if tab.is_current] == [f"{site.url}/"]
            assert window.dead is None
            await window.close()
            await window.close()

        kept.run(config, work)

    def test_pictures_are_of_the_format_asked_for(
        self, config: BrowserConfig, kept: Kept, site: ConformanceSite
    ) -> None:
        """A file's suffix and its content agree, in every format."""

        async def work(browser: Browser) -> dict[PictureFormat, bytes]:
            window = await browser.open_window(WindowRequest("row", f"{site.url}/"))
            try:
                return {one: await window.screenshot(one, 80) for one in _MARKS}
            finally:
                await window.close()

        for picture, data in kept.run(config, work).items():
            assert _MARKS[picture] in data[:12], f"the picture is not a {picture}: {data[:16]!r}"

    def test_attempts_share_nothing(self, config: BrowserConfig, kept: Kept, site: ConformanceSite) -> None:
        """What one window was given is not known to the next one, nor to one alongside it."""

        async def work(browser: Browser) -> None:
            manager = WindowManager(browser)
            await manager.create_window("first", f"{site.url}/mark")
            if browser.survey.max_windows == 1:
                await manager.close_window("first")
            await manager.create_window("second", f"{site.url}/second")
            await manager.close_all()
            assert manager.opened == manager.closed == 2

        kept.run(config, work)
        assert site.cookies("/mark") == [""]
        assert site.cookies("/second") == [""], "a cookie of one attempt reached another one"

    def test_a_start_page_that_is_not_there_is_a_fault(self, config: BrowserConfig, kept: Kept) -> None:
        """Nothing listens there: the attempt is errored, not failed, and the next window opens."""

        async def work(browser: Browser) -> None:
            with socket.socket() as held:  # bound but not listening: no other program can take it
                held.bind(("127.0.0.1", 0))
                gone = WindowRequest("row", f"http://127.0.0.1:{held.getsockname()[1]}/")
                with pytest.raises(Fault) as caught:
                    await browser.open_window(gone)
            assert caught.value.source in (ErrorSource.NAVIGATION, ErrorSource.WINDOW_CREATION)
            with ConformanceSite() as site:
                window = await browser.open_window(WindowRequest("row", f"{site.url}/"))
                await window.close()

        kept.run(config, work)

    def test_opening_can_be_cancelled(self, config: BrowserConfig, kept: Kept, site: ConformanceSite) -> None:
        """A window that hangs at its start page is given up at once, and leaves nothing in the way."""

        async def work(browser: Browser) -> None:
            opening = asyncio.ensure_future(browser.open_window(WindowRequest("row", f"{site.url}/slow")))
            await asyncio.to_thread(site.asked_for, "/slow")
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            window = await browser.open_window(WindowRequest("row", f"{site.url}/"))
            await window.close()

        kept.run(config, work)

    def test_an_unknown_tool_is_refused(
        self, config: BrowserConfig, kept: Kept, site: ConformanceSite
    ) -> None:
        """For a browser that brings tools: an unknown one is a refusal, and the window lives on."""
        if not config.brings_tools:
            return

        async def work(browser: Browser) -> None:
            window = await browser.open_window(WindowRequest("row", f"{site.url}/"))
            result = await window.call_tool("no_such_tool_at_all", {})
            assert not result.ok
            assert result.output
            assert window.dead is None
            await window.close()

        kept.run(config, work)
