"""Windows that programs of other processes attach to: what these do is seen, and nothing is left of it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from tests.browsers.listening import outside
from tests.support import PageServer, Run, configured, has_ended, until


def profiles() -> dict[str, int]:
    """Return the profile folders of the browsers that listen at a port, with their processes."""
    found: dict[str, int] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if "--remote-debugging-port=0" in line and not any(part.startswith("--type=") for part in line):
            found.update({part.partition("=")[2]: process.pid for part in line if "user-data-dir" in part})
    return found


@pytest.fixture
def lent(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> Iterator[PlaywrightWindow]:
    """Return a window that other programs can attach to; afterwards its browser must have gone."""
    url = pages.page("/start", "<title>Start</title><button onclick='document.title = \"Clicked\"'>go")
    manager = WindowManager(browser)
    window = run(manager.create_window("lent", url, wants_cdp=True))
    assert isinstance(window, PlaywrightWindow)
    left = profiles()
    assert len(left) == 1
    yield window
    run(asyncio.wait_for(manager.close_all(), 60))
    for folder, pid in left.items():
        run(until(lambda pid=pid: has_ended(pid)))  # type: ignore[misc]
        run(until(lambda folder=folder: not Path(folder).exists()))  # type: ignore[misc]


@pytest.mark.slow
def test_what_another_program_does_is_seen(run: Run, lent: PlaywrightWindow, pages: PageServer) -> None:
    """Its clicks, its navigation and its tabs are the window's, and the tab where it works is current."""
    second = pages.page("/second", "<title>Second</title><body style='background: rgb(0, 128, 0)'>")

    async def work() -> None:
        assert [tab.title for tab in await lent.tabs()] == ["Start"]
        await outside(
            lent.cdp_url, "await page.click('button')", f"await (await context.new_page()).goto({second!r})"
        )
        assert [(tab.tab_id, tab.title, tab.is_current) for tab in await lent.tabs()] == [
            (1, "Clicked", False),
            (2, "Second", True),
        ]
        assert (lent.url, await lent.page.title()) == (second, "Second")
        pixel = Image.open(io.BytesIO(await lent.screenshot("png"))).convert("RGB").getpixel((600, 600))
        assert pixel == (0, 128, 0)
        await outside(lent.cdp_url, "await page.click('button')")
        await until(lambda: lent.tab_id == 1)
        await lent.select_tab(2)
        await outside(lent.cdp_url, f"await page.goto({second + '?again'!r})")
        assert (lent.tab_id, lent.url) == (1, f"{second}?again")
        await outside(lent.cdp_url, "await page.close()")
        assert [tab.tab_id for tab in await lent.tabs()] == [2]

    run(work())


@pytest.mark.slow
def test_a_program_may_make_contexts_and_answer_dialogs(
    run: Run, lent: PlaywrightWindow, pages: PageServer
) -> None:
    """Pages of its own contexts are tabs as well, and a dialog that it answered holds up no picture."""
    second = pages.page("/second", "<title>Second</title>")

    async def work() -> None:
        await outside(
            lent.cdp_url,
            "page.on('dialog', lambda dialog: dialog.accept())",
            "await page.evaluate('alert(1)')",
            "hidden = await (await browser.new_context()).new_page()",
            f"await hidden.goto({second!r})",
            "await page.evaluate(f'document.title = {len(browser.contexts)}')",
        )
        await until(lambda: len(lent.context.pages) == 1)
        assert lent.dialog is None
        assert await lent.screenshot()
        assert [tab.title for tab in await lent.tabs()] == ["2"]

    run(work())


@pytest.mark.slow
def test_a_program_that_closes_the_browser_ends_its_window_only(
    run: Run, browser: PlaywrightBrowser, lent: PlaywrightWindow, pages: PageServer
) -> None:
    """The window is dead, which is a fault of the browser, and the browser of the others lives on."""

    async def work() -> None:
        closing = "await (await browser.new_browser_cdp_session()).send('Browser.close')"
        await outside(lent.cdp_url, closing)
        await until(lambda: (lent.dead or "").startswith("The browser ended unexpectedly: "))
        with pytest.raises(Fault) as caught:
            await lent.screenshot()
        assert caught.value.source is ErrorSource.SCREENSHOT
        assert browser._connections[-1].is_alive

    run(work())


@pytest.mark.slow
def test_a_lent_window_is_as_the_config_says(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Size, scale, language, time zone, stored state and origins hold for the program's pages too."""
    url = pages.page("/state", "state")
    other = PageServer("127.0.0.2")
    state = tmp_path / "state.json"
    stored = [{"origin": pages.url, "localStorage": [{"name": "who", "value": "Ann"}]}]
    state.write_text(json.dumps({"cookies": [], "origins": stored}))
    options: dict[str, Any] = {
        "context": {
            "viewport": {"width": 500, "height": 400},
            "device_scale_factor": 2,
            "locale": "de-DE",
            "timezone_id": "Asia/Tokyo",
            "storage_state": str(state),
        },
        "allowed_origins": ("https://shop.example",),
    }
    script = """[innerWidth, innerHeight, devicePixelRatio, navigator.language,
                 Intl.DateTimeFormat().resolvedOptions().timeZone, localStorage.who]"""

    async def work() -> None:
        window = await browser.open_window(WindowRequest("lent", url, wants_cdp=True))
        try:
            fetch = f"fetch('{other.url}/').catch(() => document.title = 'refused')"
            await outside(
                window.cdp_url,
                "for maker in (context, await browser.new_context()):",
                "    second = await maker.new_page()",
                f"    await second.goto({url!r})",
                f"    assert await second.evaluate({fetch!r}) == 'refused'",
            )
            await until(lambda: len(window.context.pages) == 2)
            assert [tab.title for tab in await window.tabs()] == ["", "refused"]
            await window.select_tab(2)
            assert await window.page.evaluate(script) == [500, 400, 2, "de-DE", "Asia/Tokyo", "Ann"]
            assert other.requests == []
        finally:
            await window.close()

    with configured(browser, **options):
        run(work())
    other.close()


@pytest.mark.slow
def test_lent_windows_are_apart(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """Each has a browser of its own; one that is left open ends with the browser, and is told as closed."""
    url = pages.page("/start", "<title>Start</title>")

    async def work() -> None:
        config = PlaywrightBrowserConfig()
        another = config.build()
        try:
            await another.start()
            windows = [
                await another.open_window(WindowRequest(f"lane {lane}", url, wants_cdp=lane > 0))
                for lane in range(3)
            ]
            urls = [window.cdp_url for window in windows]
            assert urls[0] is None
            assert len(set(urls)) == 3
            await outside(urls[1], "await page.evaluate('document.cookie = \"who=one\"')")
            cookies = [await window.page.evaluate("document.cookie") for window in windows]
            assert cookies == ["", "who=one", ""]
        finally:
            await another.close()
        await until(lambda: not profiles())

    run(work())
