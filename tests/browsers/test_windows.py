from __future__ import annotations

import asyncio
import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import CDPSession, Error

from pytest_browsereval.browsers.base import PictureFormat
from pytest_browsereval.browsers.contexts import Viewport
from pytest_browsereval.browsers.manager import WindowManager
from pytest_browsereval.browsers.pictures import PAUSES_S, REFUSAL
from pytest_browsereval.browsers.playwright import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.tabs import NoTab
from pytest_browsereval.browsers.waiting import DialogOpened
from pytest_browsereval.browsers.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from tests.support import PageServer, Run, Visit, Visits, until

LOOP = """<button onclick='const asked = new XMLHttpRequest(); asked.open("GET", "/looping", false);
asked.send(); for(;;);'>loop</button>"""
"""It asks the server for something just before, so that a test knows when it loops."""
ALERTS = "<button onclick='for(;;) alert(1)'>alerts</button>"
LEAVE = "<button onclick='onbeforeunload = (e) => { e.preventDefault(); return 1 }'>hold</button>"
FLOOD = "<button onclick='for (let i = 0; i < 50; i++) window.open(\"/popup\")'>flood</button>"
MEDIA_TYPES = {"jpeg": "JPEG", "png": "PNG", "webp": "WEBP"}


def hang(visit: Visit, pages: PageServer) -> None:
    """Let the page loop for ever."""
    before = pages.requests.count("/looping")

    async def click() -> None:
        clicking = asyncio.ensure_future(visit.window.watch(visit.window.page.click("button"), 60))
        await until(lambda: pages.requests.count("/looping") > before)
        clicking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await clicking

    visit.run(click())


# -- tabs


def test_a_window_starts_with_tab_1_at_its_page(visit: Visits) -> None:
    """The first tab has number 1 and shows the start page."""
    opened = visit("<p>Hello")
    (tab,) = opened.run(opened.window.tabs())
    assert (tab.tab_id, tab.title, tab.url, tab.is_current) == (1, "Page", opened.window.url, True)
    assert opened.window.viewport == (1280, 720)


def test_windows_share_no_cookies(visit: Visits) -> None:
    """Each window is a context of its own."""
    first, second = visit(path="/one"), visit(path="/two")
    first.js("document.cookie = 'who=first'")
    assert second.js("document.cookie") == ""
    assert first.window.window_id != second.window.window_id


def test_tabs_keep_their_numbers(visit: Visits) -> None:
    """Numbers follow the order of opening and are never used again."""
    window = visit().window
    run = visit().run
    assert [run(window.open_tab()), run(window.open_tab())] == [2, 3]
    run(window.close_tab(2))
    assert run(window.open_tab()) == 4
    assert [tab.tab_id for tab in run(window.tabs())] == [1, 3, 4]


def test_closing_the_current_tab_makes_the_last_one_current(visit: Visits) -> None:
    """Another tab's closing leaves the current one as it is; the only tab stays open."""
    opened = visit()
    window, run = opened.window, opened.run
    for _ in range(2):
        run(window.open_tab())
    run(window.select_tab(2))
    run(window.close_tab(1))
    assert window.tab_id == 2
    run(window.close_tab(2))
    assert window.tab_id == 3
    with pytest.raises(NoTab, match="Tab 3 is the only open tab"):
        run(window.close_tab(3))


def test_an_unknown_tab_is_refused_with_those_that_are_open(visit: Visits) -> None:
    """The message lists the numbers there are."""
    opened = visit()
    with pytest.raises(NoTab, match=r"There is no tab 7\. Open tabs: 1\."):
        opened.run(opened.window.select_tab(7))


def test_a_page_that_closes_itself_leaves_a_window_without_tabs(visit: Visits) -> None:
    """The window stays usable: its page is refused, its pictures fail at once, a new tab can be opened."""
    opened = visit()
    window = opened.window

    async def close_itself() -> None:
        await window.page.close()
        assert (window.url, window.tab_id, window.viewport) == ("", 0, None)
        with pytest.raises(NoTab, match="Call open_tab"):
            _ = window.page
        with pytest.raises(Fault, match="no tab is open"):
            await window.screenshot()
        assert await window.open_tab() == 2

    opened.run(close_itself())


def test_the_title_of_a_hung_page_is_not_waited_for(visit: Visits, pages: PageServer) -> None:
    """A tab in an endless loop is listed with whatever title there is, and others with theirs."""
    opened = visit(LOOP)
    hang(opened, pages)
    opened.run(opened.window.open_tab())
    opened.limit(title_s=1.0)
    tabs = opened.run(asyncio.wait_for(opened.window.tabs(), 60))
    assert [tab.tab_id for tab in tabs] == [1, 2]


# -- dialogs


def test_work_that_opens_a_dialog_goes_on_when_it_is_answered(visit: Visits) -> None:
    """The dialog is held, the work returns to its caller at once, and ends after the answer."""
    opened = visit('<button onclick=\'document.title = prompt("Name?", "Ann")\'>ask</button>')
    window = opened.window

    async def ask() -> None:
        with pytest.raises(DialogOpened):
            await window.watch(window.page.click("button"), 60)
        assert window.dialog is not None
        assert (window.dialog.type, window.dialog.message) == ("prompt", "Name?")
        assert await window.answer_dialog(accept=True)
        assert await window.page.title() == "Ann"

    opened.run(ask())


def test_answering_without_a_dialog_is_an_error(visit: Visits) -> None:
    """There is nothing to accept."""
    opened = visit()
    with pytest.raises(LookupError, match="No dialog is open"):
        opened.run(opened.window.answer_dialog(accept=True))


def test_a_dialog_that_has_gone_is_told(visit: Visits) -> None:
    """A dialog whose page was closed cannot be answered any more."""
    opened = visit("<script>setTimeout(() => alert(1), 0)</script>")
    window = opened.window

    async def gone() -> bool:
        await until(lambda: window.dialog)
        held = window.dialog
        assert held is not None
        await window.open_tab()
        await window.close_tab(1)
        assert window.dialog is None
        window._dialogs.open.append(held)
        return await window.answer_dialog(accept=True)

    assert opened.run(gone()) is False


def test_a_cancelled_caller_leaves_nothing_under_way(visit: Visits) -> None:
    """When the attempt is over, the work that it waited for is cancelled with it."""
    opened = visit()
    window = opened.window

    async def cancel() -> None:
        caller = asyncio.ensure_future(window.watch(window.page.wait_for_selector("#never", timeout=0), 60))
        await asyncio.sleep(0.05)  # long enough for it to be under way, which makes no difference
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await asyncio.wait(window._dialogs._under_way, timeout=30)
        assert not window._dialogs._under_way

    opened.run(cancel())


# -- pictures


@pytest.mark.parametrize("picture", ["jpeg", "png", "webp"])
def test_a_picture_is_of_the_format_that_was_asked_for(visit: Visits, picture: PictureFormat) -> None:
    """Bytes, format and size agree."""
    opened = visit("<h1>Hello")
    image = Image.open(io.BytesIO(opened.run(opened.window.screenshot(picture))))
    assert (image.format, image.size) == (MEDIA_TYPES[picture], (1280, 720))


def test_a_picture_shows_the_current_tab(visit: Visits) -> None:
    """After a change of tabs another page is in the picture, and the first one when it is selected again."""
    opened = visit("<body style='background: rgb(0, 128, 0)'>")
    window, run = opened.window, opened.run

    def colour() -> tuple[int, ...]:
        pixel = Image.open(io.BytesIO(run(window.screenshot("png")))).convert("RGB").getpixel((600, 600))
        assert isinstance(pixel, tuple)
        return tuple(int(part) for part in pixel)

    assert colour() == (0, 128, 0)
    run(window.open_tab())
    assert colour() == (255, 255, 255)
    run(window.select_tab(1))
    assert colour() == (0, 128, 0)


def test_a_picture_is_taken_another_way_when_the_session_is_lost(visit: Visits) -> None:
    """A detached session costs no picture, and the next one attaches anew."""
    opened = visit("<h1>Hello")
    window = opened.window

    async def lose() -> tuple[bytes, bytes]:
        session = window._tabs.get().session
        assert session is not None
        await (await session).detach()
        return await window.screenshot("png"), await window.screenshot("png")

    for data in opened.run(lose()):
        assert Image.open(io.BytesIO(data)).size == (1280, 720)


def test_a_session_that_could_not_be_opened_is_opened_again(visit: Visits) -> None:
    """A window has one session for each tab, which graders share with the pictures."""
    opened = visit("<h1>Hello")
    window = opened.window

    async def refuse() -> CDPSession:
        raise Error("Target closed")

    async def again() -> tuple[bool, Any]:
        window._tabs.get().session = refused = asyncio.ensure_future(refuse())
        await asyncio.wait({refused})
        session = await window.cdp_session(window.page)
        seen = await session.send("Runtime.evaluate", {"expression": "document.body.innerText"})
        return await window.cdp_session(window.page) is session, seen["result"]["value"]

    assert opened.run(again()) == (True, "Hello")


@pytest.mark.parametrize("refusals", [3, len(PAUSES_S), len(PAUSES_S) + 1])
def test_a_picture_that_chromium_refuses_is_asked_for_again(
    visit: Visits, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """It does so on a busy machine, whichever way it is asked, and takes it a moment later."""
    opened = visit("<h1>Hello")
    window, refused = opened.window, 0
    drawn = window._camera._in_css_pixels

    async def refuse(*given: Any, **more: Any) -> bytes:
        nonlocal refused
        if refused < refusals:
            raise Error(f"Page.captureScreenshot: Protocol error: {REFUSAL}")
        return await drawn(*given)

    async def refuse_again(**_: Any) -> bytes:
        nonlocal refused
        refused += 1
        raise Error(f"Page.screenshot: Protocol error: {REFUSAL}")

    monkeypatch.setattr(window._camera, "_in_css_pixels", refuse)
    monkeypatch.setattr(window.page, "screenshot", refuse_again)
    if refusals <= len(PAUSES_S):
        assert Image.open(io.BytesIO(opened.run(window.screenshot("png")))).size == (1280, 720)
    else:
        with pytest.raises(Fault, match=REFUSAL) as caught:
            opened.run(window.screenshot("png"))
        assert caught.value.source is ErrorSource.SCREENSHOT
    assert refused == refusals


def test_a_page_that_loops_for_ever_costs_one_picture_not_the_attempt(
    visit: Visits, pages: PageServer
) -> None:
    """The picture fails within its limit as a fault of the picture, the next one sooner, and close works."""
    opened = visit(LOOP)
    opened.window.rules = replace(opened.window.rules, picture_s=1.5)
    hang(opened, pages)
    for limit in ("1.5 s", "1 s"):
        with pytest.raises(Fault, match=f"was not drawn within {limit}") as caught:
            opened.run(opened.window.screenshot())
        assert caught.value.source is ErrorSource.SCREENSHOT


def test_no_picture_is_waited_for_while_a_dialog_is_open(visit: Visits) -> None:
    """The page is not drawn until the dialog is answered, which is said at once."""
    opened = visit("<script>setTimeout(() => alert(1), 0)</script>")

    async def picture() -> None:
        await until(lambda: opened.window.dialog)
        with pytest.raises(Fault, match="a dialog is open"):
            await asyncio.wait_for(opened.window.screenshot(), 20)
        await opened.window.answer_dialog(accept=True)
        assert await opened.window.screenshot()

    opened.run(picture())


def test_a_crashed_page_has_no_picture_until_it_is_revived(visit: Visits) -> None:
    """The tab keeps its number when its page is replaced, also where no further tab may be opened."""
    opened = visit("<h1>Hello")
    window = opened.window

    async def crash() -> None:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        window.page.on("crash", lambda _: gone.set_result(None))
        session = await window.context.new_cdp_session(window.page)
        asyncio.ensure_future(session.send("Page.crash")).add_done_callback(lambda task: task.exception())
        await asyncio.wait_for(gone, 30)
        with pytest.raises(Fault, match="has crashed"):
            await window.screenshot()
        window._tabs._most = 1
        assert await window.revive()
        assert not await window.revive()
        window._tabs._most = 2
        assert (window.tab_id, await window.open_tab()) == (1, 2)
        assert await window.screenshot()

    opened.run(crash())
    assert any("crashed" in warning for warning in opened.window.warnings)


@pytest.mark.parametrize("is_session_lost", [False, True])
def test_pictures_of_a_scaled_screen_are_in_css_pixels(
    run: Run,
    browser: PlaywrightBrowser,
    pages: PageServer,
    is_session_lost: bool,  # noqa: FBT001
) -> None:
    """At scale 2 a picture shows the whole viewport, and its points are points for the pointer."""
    corner = "position:fixed;right:0;bottom:0;width:9px;height:9px;background:red"
    url = pages.page("/scaled", f"<div style='{corner}'></div>")
    config = PlaywrightBrowserConfig(device_scale_factor=2, viewport=Viewport(width=400, height=300))

    async def picture() -> Image.Image:
        window = await browser._connections[-1].new_window(config.context_options(), config.rules(url))
        try:
            await window.goto(url)
            assert await window.page.evaluate("devicePixelRatio") == 2
            if is_session_lost:
                window._tabs.get().session = asyncio.ensure_future(_lost())
            return Image.open(io.BytesIO(await window.screenshot("png"))).convert("RGB")
        finally:
            await window.close()

    async def _lost() -> CDPSession:
        session = await browser._connections[-1].browser.new_browser_cdp_session()
        await session.detach()
        return session

    image = run(picture())
    assert image.size == (400, 300)
    assert image.getpixel((398, 298)) == (255, 0, 0)
    assert image.getpixel((380, 280)) == (255, 255, 255)


# -- closing


@pytest.mark.parametrize(
    "body", [LOOP, ALERTS, LEAVE, FLOOD], ids=["loop", "alerts", "beforeunload", "flood"]
)
def test_a_window_closes_whatever_its_page_does(visit: Visits, pages: PageServer, body: str) -> None:
    """Endless loops, dialogs without end, a page that wants to stay and pop-ups do not hold a window."""
    pages.page("/popup", "pop-up")
    opened = visit(body)
    window = opened.window
    opened.limit(close_s=30)

    async def close() -> None:
        with contextlib.suppress(DialogOpened, TimeoutError):
            await window.watch(window.page.click("button"), 0.5)
        await asyncio.wait_for(window.close(), 60)
        await window.close()
        assert not window._dialogs._under_way
        assert window.dead is None
        assert not window.context.pages

    opened.run(close())


def test_more_tabs_than_a_window_may_have_are_closed_at_once(visit: Visits, pages: PageServer) -> None:
    """A page that opens 50 pop-ups leaves 20 tabs and one warning."""
    pages.page("/popup", "pop-up")
    opened = visit(FLOOD)
    window = opened.window

    async def flood() -> list[str]:
        await window.page.click("button", timeout=60_000)
        await until(lambda: len(window.context.pages) == 20 and not window._dialogs._under_way, 60)
        return await window.take_notes()

    notes = opened.run(flood())
    assert len(opened.run(window.tabs())) == 20
    assert window.warnings == ("More than 20 tabs were opened; further ones were closed at once.",)
    assert sum(note.startswith("Warning: More than 20 tabs") for note in notes) == 1
    with pytest.raises(NoTab, match="20 tabs are open, which is the most"):
        opened.run(window.open_tab())


def test_a_download_ends_with_its_window(visit: Visits, pages: PageServer) -> None:
    """A downloaded file is told with its size and is gone when the window is closed."""
    pages.page(
        "/bill.pdf", b"12345", media_type="application/pdf", headers={"Content-Disposition": "attachment"}
    )
    opened = visit("<a href='/bill.pdf' download>bill</a>")
    window = opened.window

    async def download() -> tuple[list[str], Path]:
        async with window.page.expect_download() as waiting:
            await window.page.click("a")
        path = await (await waiting.value).path()
        return await window.take_notes(), path

    notes, path = opened.run(download())
    assert notes == ["Downloaded file name 'bill.pdf' (5 bytes)."]
    assert path.exists()
    opened.run(window.close())
    assert not path.exists()


# -- the manager


def test_a_manager_opens_and_closes_windows_by_key(run: Run, browser: PlaywrightBrowser) -> None:
    """Windows of several attempts are open at once, and the counters agree when all are closed."""

    async def lanes() -> None:
        manager = WindowManager(browser)
        first, second = await asyncio.gather(manager.create_window("a"), manager.create_window("b"))
        assert manager.windows == {"a": first, "b": second}
        await manager.close_window("a")
        await manager.close_window("a")
        assert (manager.opened, manager.closed) == (2, 1)
        await manager.close_all()
        assert (manager.opened, manager.closed, manager.windows) == (2, 2, {})

    run(lanes())


def test_a_key_can_only_be_open_once(run: Run, browser: PlaywrightBrowser) -> None:
    """A second window under the same key is refused, also while the first is opening."""

    async def twice() -> None:
        manager = WindowManager(browser)
        results = await asyncio.gather(
            manager.create_window("a"), manager.create_window("a"), return_exceptions=True
        )
        assert [type(result) for result in results] == [PlaywrightWindow, ValueError]
        assert re.search(r"already open for 'a'\. Close it by close_window\('a'\)", str(results[1]))
        await manager.close_all()
        assert (await manager.create_window("a")).dead is None
        await manager.close_all()

    run(twice())


def test_a_failed_opening_leaves_no_window(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """When the start page is not there, nothing is open and the key is free again."""

    async def fail() -> None:
        manager = WindowManager(browser)
        before = len(browser._connections[-1].browser.contexts)
        with pytest.raises(Fault):
            await manager.create_window("a", pages.url + "/missing")
        assert (manager.opened, manager.windows) == (0, {})
        assert len(browser._connections[-1].browser.contexts) == before

    run(fail())


def test_a_cancelled_opening_leaves_no_window(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """An attempt that is cancelled at any moment of its window's opening leaves no context behind."""
    url = pages.page("/slow", "slow", delay_s=3)

    async def cancel() -> None:
        manager = WindowManager(browser)
        before = len(browser._connections[-1].browser.contexts)
        for delay_s in (0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.2):
            opening = asyncio.ensure_future(manager.create_window("a", url))
            await asyncio.sleep(delay_s)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert manager.windows == {}
        await until(lambda: len(browser._connections[-1].browser.contexts) == before)

    run(cancel())


def test_closing_goes_on_when_its_caller_is_cancelled(run: Run, browser: PlaywrightBrowser) -> None:
    """A window closes even if the attempt is cancelled while it does."""

    async def cancel() -> None:
        manager = WindowManager(browser)
        window = await manager.create_window("a")
        assert isinstance(window, PlaywrightWindow)
        closing = asyncio.ensure_future(manager.close_window("a"))
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await until(lambda: manager.closed)
        assert window.context not in browser._connections[-1].browser.contexts

    run(cancel())
