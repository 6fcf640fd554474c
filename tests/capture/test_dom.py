"""Copies of a page's markup: whole, without secrets, and harmless."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.capture.dom import INERT, LONGEST, DomCapture
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.redaction.spellings import list_spellings
from tests.support import PageServer, Run, StillWindow, Visits, visiting

SECRET = 'key"<1>&'


def redact(text: str) -> str:
    for spelling in list_spellings([SECRET]):
        text = text.replace(spelling, "***")
    return text


def test_the_page_is_kept_after_each_action(visit: Visits, tmp_path: Path, pages: PageServer) -> None:
    """With frames and shadow trees, closed ones too; numbered, named in the log, secrets taken out."""
    frame = pages.page("/framed", "<p>In the frame")
    body = (
        f"<iframe src='{frame}'></iframe><div id=host></div><p title='{escape(SECRET)}'>{escape(SECRET)}</p>"
        "<button onclick='document.title = 42'>go</button>"
        "<script>host.attachShadow({mode: 'closed'}).innerHTML = '<b>In the shadow</b>'</script>"
    )
    opened = visit(body, dom=True, redact=redact)
    opened.output("click", target="button")
    opened.output("snapshot")
    opened.output("navigate", url=frame)
    assert [m.dom for m in opened.logged(ToolResultMessage)] == [1, None, 2]
    first, second = ((tmp_path / "dom" / f"{number:03d}.html").read_text() for number in (1, 2))
    assert first.startswith(INERT)
    for there in ("<title>42</title>", "In the shadow", 'shadowrootmode="closed"', "<!-- frame http"):
        assert there in first
    assert '"***">***<' in first
    assert first.count("In the frame") == second.count("In the frame") == 1
    opened.run(opened.capture.final_picture())
    assert opened.capture.dom.count == 2


def test_a_frame_that_has_not_loaded_holds_nothing_up(
    visit: Visits, tmp_path: Path, pages: PageServer
) -> None:
    """It waits until somebody scrolls to it, and answers nothing until then."""
    frame = pages.page("/framed", "<p>In the frame")
    style = "position: absolute; top: 90000px"
    body = f"<button>go</button><iframe src='{frame}' loading=lazy style='{style}'></iframe>"
    opened = visit(body, dom=True)
    opened.output("click", target="button")
    assert [m.dom for m in opened.logged(ToolResultMessage)] == [1]
    assert "loading=" in (tmp_path / "dom/001.html").read_text()


@pytest.fixture
def own() -> Iterator[PageServer]:
    """Return a server that no other test's page asks for anything."""
    server = PageServer()
    yield server
    server.close()


def test_opening_a_copy_runs_nothing(
    run: Run, browser: PlaywrightBrowser, own: PageServer, tmp_path: Path
) -> None:
    """No script, no picture, no frame of the page is loaded, whatever its doctype says."""
    trap = "<script>fetch('/trapped')</script>"
    body = f"<img src=/trapped onerror=\"fetch('/trapped')\"><iframe src=/trapped></iframe>{trap}<p>Hello"
    url = own.page("/page", f"<!doctype html><title>Page</title>{body}")
    with visiting(run, browser, tmp_path, url, dom=True) as opened:
        opened.js(
            "document.replaceChild(document.implementation.createDocumentType("
            "'html', '\"><script>fetch(`/trapped`)</script>', ''), document.doctype)"
        )
        opened.run(opened.capture.final_picture())
        opened.run(opened.window.page.wait_for_load_state("networkidle"))
    (copy,) = (tmp_path / "dom").iterdir()
    before = list(own.requests)
    served = own.page("/copy", copy.read_bytes())

    async def look() -> str:
        context = await (await browser._living()).browser.new_context()
        page = await context.new_page()
        await page.goto(served, wait_until="load")
        text = await page.inner_text("p")
        await context.close()
        return text

    assert run(look()) == "Hello"
    assert own.requests == [*before, "/copy"]


def test_no_copy_is_missed_where_a_dialog_is_open(visit: Visits, tmp_path: Path) -> None:
    """It holds the page up: the call goes on, and the next copy has the number."""
    opened = visit("<button onclick='alert(1)'>go</button>", dom=True)
    opened.output("click", target="button")
    opened.output("handle_dialog", accept=True)
    assert [m.dom for m in opened.logged(ToolResultMessage)] == [None, 1]
    assert opened.capture.warnings == ()
    assert [file.name for file in (tmp_path / "dom").iterdir()] == ["001.html"]


class TextWindow(StillWindow):
    """A window whose markup a test writes down."""

    text = ""

    async def markup(self) -> str:
        return self.text


def test_a_page_without_end_is_cut(tmp_path: Path) -> None:
    """It says how much is left out; what cannot be written takes no number."""
    window = TextWindow()
    dom = DomCapture(window, tmp_path, str)
    window.text = "x" * (LONGEST + 7) + "\ud83d"
    assert asyncio.run(dom.capture()) == 1
    assert dom.path(1).read_text().endswith("xx\n<!-- 8 characters are left out -->\n")
    dom.path(2).mkdir()
    with pytest.raises(OSError, match=r"002\.html"):
        asyncio.run(dom.capture())
    assert dom.count == 1


def test_a_copy_leads_nobody_on(
    run: Run, browser: PlaywrightBrowser, own: PageServer, tmp_path: Path
) -> None:
    """A page that sends its readers to another one by itself does so no more, however that is written."""
    window = TextWindow()
    window.text = (
        "<meta http-equiv='refresh' content='0;url=/trapped'>"
        "<META HTTP-EQUIV\n=refresh CONTENT='0;url=/trapped'><p>Hello"
    )
    dom = DomCapture(window, tmp_path, str)
    run(dom.capture())
    served = own.page("/copy", dom.path(1).read_bytes())

    async def look() -> None:
        opened = await browser.open_window(WindowRequest("row", served))
        await opened.page.evaluate("new Promise(resolve => setTimeout(resolve, 200))")
        await opened.close()

    run(look())
    assert own.requests == ["/copy"]
