from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened
from pytest_browsereval.errors import Fault
from tests.browsers.hanging import LOOP
from tests.support import PageServer, Run, Visits, until

ALERTS = "<button onclick='for(;;) alert(1)'>alerts</button>"
LEAVE = "<button onclick='onbeforeunload = (e) => { e.preventDefault(); return 1 }'>hold</button>"
FLOOD = "<button onclick='for (let i = 0; i < 50; i++) window.open(\"/popup\")'>flood</button>"


# -- tabs


def test_tabs_keep_their_numbers(visit: Visits) -> None:
    """They follow the order of opening; of those left the last one is current, the only one stays open."""
    opened, other = visit("<p>Hello"), visit(path="/two")
    window, run = opened.window, opened.run
    (tab,) = run(window.tabs())
    assert (tab.tab_id, tab.title, tab.url, tab.is_current) == (1, "Page", window.url, True)
    opened.js("document.cookie = 'who=first'")
    assert other.js("document.cookie") == ""  # each window is a context of its own
    with pytest.raises(NoTab, match=r"There is no tab 7\. Open tabs: 1\."):
        run(window.select_tab(7))
    assert [run(window.open_tab()), run(window.open_tab())] == [2, 3]
    run(window.select_tab(2))
    run(window.close_tab(1))
    assert window.tab_id == 2
    assert run(window.open_tab()) == 4
    assert [tab.tab_id for tab in run(window.tabs())] == [2, 3, 4]
    run(window.close_tab(4))
    assert window.tab_id == 3
    run(window.close_tab(2))
    with pytest.raises(NoTab, match="Tab 3 is the only open tab"):
        run(window.close_tab(3))


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


@pytest.mark.slow
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
    with pytest.raises(NoTab, match="20 tabs are open, which is the limit"):
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
