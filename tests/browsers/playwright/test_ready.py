"""Ready windows: there before their attempt, as any other window, and for one attempt only."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext
from pydantic import ValidationError

from pytest_browsereval.browsers.base import WindowRequest, WindowTraffic
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.cdp_browser.browser import CdpBrowserConfig
from tests.support import PageServer, Run, configured, running, until

START = "<!doctype html><title>Start</title>"


def contexts(browser: PlaywrightBrowser) -> list[BrowserContext]:
    return browser._connections[-1].browser.contexts


async def made_ready(browser: PlaywrightBrowser, count: int = 1) -> list[BrowserContext]:
    """Have windows ready and return their contexts."""
    before = contexts(browser)
    browser.make_ready(count)
    await until(lambda: sum(bool(each.pages) for each in contexts(browser)) == len(before) + count)
    return [each for each in contexts(browser) if each not in before]


async def closing(browser: PlaywrightBrowser, *windows: PlaywrightWindow) -> None:
    """Close windows; then no context is left, and no task that would open or close one."""
    await asyncio.gather(*(window.close() for window in windows))
    await until(lambda: contexts(browser) == [] and not browser._ready._closing)
    assert len(browser._ready._queue) == 0


def within(run: Run, work: Coroutine[Any, Any, None]) -> None:
    run(asyncio.wait_for(work, 120))


# -- how many


def test_how_many_are_ready_is_told_by_the_lanes_or_the_config() -> None:
    """One for eight lanes, never more than lanes; none where somebody would see them, unless asked for."""
    config = PlaywrightBrowserConfig()
    assert [config.ready(lanes) for lanes in (1, 8, 9, 16, 32)] == [1, 1, 2, 2, 4]
    assert PlaywrightBrowserConfig(ready_windows=0).ready(8) == 0
    assert PlaywrightBrowserConfig(ready_windows=9).ready(4) == 4
    assert PlaywrightBrowserConfig(headless=False).ready(8) == 0
    assert PlaywrightBrowserConfig(headless=False, ready_windows=2).ready(8) == 2
    assert CdpBrowserConfig(url="http://h:1").ready(8) == 0
    assert CdpBrowserConfig(url="http://h:1", ready_windows=2).ready(8) == 2
    assert CdpBrowserConfig(url="http://h:1", context="shared", ready_windows=0).ready(8) == 0


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (PlaywrightBrowserConfig, {"ready_windows": -1}, "greater than or equal to 0"),
        (PlaywrightBrowserConfig, {"ready_windows": "many"}, "valid integer"),
        (
            CdpBrowserConfig,
            {"url": "http://h:1", "context": "shared", "ready_windows": 1},
            "ready_windows cannot be set in a context that was there before",
        ),
    ],
)
def test_a_number_that_cannot_be_is_refused(config: Any, options: dict[str, Any], message: str) -> None:
    """One below nothing, a word, and any where attempts have one context in turns."""
    with pytest.raises(ValidationError, match=message):
        config.model_validate(options)


# -- what an attempt gets


def test_a_ready_window_is_as_any_other(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """One tab of number 1 at the start page, nothing to tell; new tabs, dialogs, pictures are as ever."""
    pages.page("/second", "<title>Second</title>")
    url = pages.page("/start", f"{START}<script>alert('hello')</script>")

    async def use() -> None:
        (context,) = await made_ready(browser)
        assert [page.url for page in context.pages] == ["about:blank"]
        window = await browser.open_window(WindowRequest("one", url))
        assert window.context is context
        assert window.dialog is not None
        await window.answer_dialog(accept=True)
        assert [(tab.tab_id, tab.title) for tab in await window.tabs()] == [(1, "Start")]
        assert (await window.take_notes(), window.warnings, window.viewport) == ([], (), (1280, 720))
        await window.page.evaluate("void window.open('/second')")
        await window.settle()
        (note,) = await window.take_notes()
        assert note.startswith("A new tab opened: tab 2 'Second'")
        assert (await window.screenshot()).startswith(b"\xff\xd8")
        await closing(browser, window)

    within(run, use())


def test_attempts_share_nothing(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """Each has a context of its own, ready or not: cookies, storage and pages of one are not the other's."""
    url = pages.page("/shared", START)
    look = "[document.cookie, localStorage.who || '', history.length]"

    async def use() -> None:
        ready = await made_ready(browser, 2)
        windows, seen = [], []
        for name in ("one", "two", "three"):
            windows.append(await browser.open_window(WindowRequest(name, url)))
            seen.append(await windows[-1].page.evaluate(look))
            await windows[-1].page.evaluate(f"document.cookie = localStorage.who = '{name}'")
        assert [window.context for window in windows[:2]] == ready
        assert windows[2].context not in ready
        assert seen == [seen[2]] * 3
        assert seen[0][:2] == ["", ""]
        assert len({window.window_id for window in windows}) == 3
        await closing(browser, *windows)

    within(run, use())


def test_a_ready_window_has_the_options_of_its_attempt(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Size, language and stored state, and never those that have changed since."""
    url = pages.page("/state", START)
    state = tmp_path / "state.json"
    look = "[innerWidth, navigator.language, localStorage.who]"

    def store(who: str) -> None:
        stored = {"origin": pages.url, "localStorage": [{"name": "who", "value": who}]}
        state.write_text(json.dumps({"cookies": [], "origins": [stored]}))

    async def opened(*, is_ready: bool, by: Callable[[], object] = lambda: None) -> Any:
        (context,) = await made_ready(browser)
        by()
        window = await browser.open_window(WindowRequest("state", url))
        assert (window.context is context) == is_ready
        seen = await window.page.evaluate(look)
        await closing(browser, window)
        return seen

    async def use() -> None:
        store("Ann")
        options: dict[str, Any] = {"viewport": {"width": 500, "height": 400}, "locale": "de-DE"}
        with configured(browser, **options, storage_state=state):
            assert await opened(is_ready=True) == [500, "de-DE", "Ann"]
            assert await opened(is_ready=False, by=lambda: store("Robert")) == [500, "de-DE", "Robert"]
            with pytest.raises(Fault, match=r"state\.json") as caught:
                await opened(is_ready=True, by=state.unlink)
            assert caught.value.source is ErrorSource.WINDOW_CREATION
            await until(lambda: contexts(browser) == [])
            browser.make_ready(1)
            assert len(browser._ready._queue) == 0
        (context,) = await made_ready(browser)
        with configured(browser, locale="fr-FR"):
            window = await browser.open_window(WindowRequest("other", url))
            assert await window.page.evaluate("navigator.language") == "fr-FR"
        assert window.context is not context
        await closing(browser, window)

    within(run, use())


def test_the_origins_are_those_of_the_attempt(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """A start page's own origin is allowed in its window, and in no other that was ready beside it."""
    other = PageServer("127.0.0.2")
    url, elsewhere = pages.page("/start", START), other.page("/start", START)
    ask = "url => fetch(url, {mode: 'no-cors'}).then(() => 'loaded', () => 'refused')"

    async def use() -> None:
        ready = await made_ready(browser, 2)
        one = await browser.open_window(WindowRequest("one", url))
        two = await browser.open_window(WindowRequest("two", elsewhere))
        assert [one.context, two.context] == ready
        for window, own, foreign in ((one, url, elsewhere), (two, elsewhere, url)):
            assert await window.page.evaluate(ask, own) == "loaded"
            assert await window.page.evaluate(ask, foreign) == "refused"
        assert one.warnings == (f"{other.url} was blocked: it is not among the allowed origins.",)
        await closing(browser, one, two)

    with configured(browser, allowed_origins=("https://shop.example",)):
        within(run, use())
    other.close()


@pytest.mark.slow
def test_recorded_and_lent_windows_are_their_own(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Traffic is recorded from a context's beginning on, and a lent window has its own browser."""
    url = pages.page("/start", START)

    async def use() -> None:
        (context,) = await made_ready(browser)
        plain = WindowRequest("one", url)
        recorded = await browser.open_window(replace(plain, traffic=WindowTraffic(tmp_path / "all.har")))
        lent = await browser.open_window(replace(plain, wants_cdp=True))
        window = await browser.open_window(plain)
        assert [each.context is context for each in (recorded, lent, window)] == [False, False, True]
        await closing(browser, recorded, lent, window)
        assert (tmp_path / "all.har").is_file()

    within(run, use())


def test_a_manager_has_windows_made_ready_for_those_who_wait(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """The next window is there before the first one ends, none for the last; only attempts' are counted."""
    url = pages.page("/start", START)
    waiting = ["two", "three"]

    async def use() -> None:
        manager = WindowManager(browser, lambda: min(len(waiting), 1))
        seen = []
        for name in ("one", "two", "three"):
            await manager.create_window(name, url)
            await until(lambda: not waiting or len(contexts(browser)) == 2)
            seen.append((len(contexts(browser)), len(manager.windows), manager.opened, manager.closed))
            await manager.close_window(name)
            waiting[:1] = []
        assert seen == [(2, 1, 1, 0), (2, 1, 2, 1), (1, 1, 3, 2)]
        await closing(browser)

    within(run, use())


# -- what goes wrong


def test_a_page_that_died_while_it_waited_is_not_handed_out(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """Crashed or closed by somebody: the attempt has a fresh window, and no warning."""
    url = pages.page("/start", START)
    loop = "() => { console.log('loops'); for (;;); }"

    async def use() -> None:
        crashed, closed, hung = await made_ready(browser, 3)
        loops: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        hung.pages[0].on("console", lambda _: loops.set_result(None))
        crashed.pages[0].on("crash", lambda _: gone.set_result(None))
        session = await crashed.new_cdp_session(crashed.pages[0])
        crashing = asyncio.ensure_future(session.send("Page.crash"))
        await closed.pages[0].close()
        looping = asyncio.ensure_future(hung.pages[0].evaluate(loop))
        await asyncio.gather(loops, gone)
        window = await browser.open_window(WindowRequest("one", url))
        assert window.context not in (crashed, closed, hung)
        assert [(tab.tab_id, tab.title) for tab in await window.tabs()] == [(1, "Start")]
        assert (window.warnings, await window.take_notes()) == ((), [])
        await closing(browser, window)
        await asyncio.wait({crashing, looping})
        assert crashing.exception()
        assert looping.exception()

    with configured(browser, action_timeout_ms=1000):  # so long the page that hangs is asked
        within(run, use())


@pytest.mark.slow
def test_a_browser_that_died_takes_its_ready_windows_along(run: Run, pages: PageServer) -> None:
    """The next attempt starts in a new browser, and the next ready window is there too."""
    url = pages.page("/start", START)

    async def use(browser: PlaywrightBrowser) -> None:
        await made_ready(browser, 2)
        session = await browser._connections[-1].browser.new_browser_cdp_session()
        found = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        pid = next(each["id"] for each in found if each["type"] == "browser")
        os.kill(pid, signal.SIGKILL)
        window = await browser.open_window(WindowRequest("one", url))
        assert await window.page.title() == "Start"
        assert window.dead is None
        (context,) = await made_ready(browser)
        after = await browser.open_window(WindowRequest("two", url))
        assert after.context is context
        await closing(browser, window, after)

    with running(PlaywrightBrowserConfig(), run) as browser:
        within(run, use(browser))


@pytest.mark.slow
def test_what_cannot_be_made_ready_errs_nobody(run: Run, tmp_path: Path) -> None:
    """A browser that cannot be launched is told by the attempt that needs it, not by one that does not."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    browser = PlaywrightBrowserConfig(binary=str(program)).build()

    async def use() -> None:
        browser.make_ready(1)
        (ready,) = browser._ready._queue
        await asyncio.wait({ready.opening})
        assert ready.window is None
        with pytest.raises(Fault, match="chromium") as caught:
            await browser.open_window(WindowRequest("one"))
        assert caught.value.source is ErrorSource.BROWSER
        await browser.close()

    within(run, use())


@pytest.mark.slow
def test_the_end_leaves_nothing(run: Run) -> None:
    """Windows that are ready or being opened end with their browser, and so do their tasks."""

    async def use() -> None:
        before = asyncio.all_tasks()
        browser = PlaywrightBrowserConfig().build()
        await browser.start()
        process = browser._connections[-1]
        await made_ready(browser, 1)
        browser.make_ready(3)
        await asyncio.sleep(0)
        await browser.close()
        browser.make_ready(1)
        assert process.browser.contexts == []
        assert not process.browser.is_connected()
        await until(lambda: asyncio.all_tasks() <= before)

    within(run, use())
