from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from tests.support import PATIENCE_S, PageServer, Run, Visits, configured, visiting


def test_addresses_are_relative_to_the_page(visit: Visits, pages: PageServer) -> None:
    """Those without a slash too; the name of a host alone is not one."""
    for path in ("/notes/2.html", "/notes/all", "/notes/shop.example"):
        pages.page(path, f"<title>{path}</title>")
    opened = visit()
    for url in ("/notes/all", "2.html", "all?x=1", "./shop.example", "2.html#end"):
        assert opened.output("navigate", url=url).startswith(f"Opened {pages.url}/notes/")
    opened.output("open_tab")
    assert "Write an address with http:// or https://." in opened.refusal("navigate", url="2.html")


def test_a_page_that_a_click_cannot_load_says_why(visit: Visits, pages: PageServer) -> None:
    """Redirects without an end, a host that is not there: the reason, and not the browser's own address."""
    pages.page("/loop", "", status=302, headers={"Location": "/loop"})
    opened = visit("<a href=/loop>loop</a>")
    assert opened.output("click", target="text=loop") == (
        f"Clicked text=loop. {pages.url}/loop did not load: its redirects never end (ERR_TOO_MANY_REDIRECTS)."
    )
    said = opened.refusal("navigate", url=f"{pages.url}/loop")
    assert said.count("ERR_TOO_MANY_REDIRECTS") == 1
    opened = visit("<button onclick=\"location = 'http://127.0.0.1:1/'\">go</button>")
    assert "http://127.0.0.1:1/ did not load: " in opened.output("click", target="text=go")


def test_navigate_tells_where_it_arrived(visit: Visits, pages: PageServer) -> None:
    """The output has address and title; relative addresses are those of the page."""
    url = pages.page("/cart", "<title>Your cart</title>")
    opened = visit()
    assert opened.output("navigate", url=url) == f"Opened {url}, titled 'Your cart'."
    assert opened.output("navigate", url="?page=2") == f"Opened {url}?page=2, titled 'Your cart'."
    assert opened.output("navigate", url="/cart#top") == f"Opened {url}#top, titled 'Your cart'."
    assert opened.output("navigate", url="about:blank") == "Opened about:blank, titled ''."


def test_a_page_that_is_not_there_is_opened_and_told(visit: Visits, pages: PageServer) -> None:
    """An error page of a site is a page: its status stands in the output."""
    opened = visit()
    url = f"{pages.url}/missing"
    assert opened.output("navigate", url="/missing") == f"Opened {url}, titled ''. {url} answered HTTP 404."


def test_what_is_no_web_address_is_refused_without_a_look(visit: Visits, subtests: pytest.Subtests) -> None:
    """Files, scripts, browser pages and inline data are refused in one sentence; the page stays."""
    cases = ["file:///etc/passwd", "chrome://version", "javascript:alert(1)", "data:text/html,<p>x"]
    cases += ["view-source:http://x.test", "ftp://x.test", "shop.example", "http://", "blob:http://x.test/1"]
    opened = visit()
    before = opened.window.url
    for url in (*cases, ""):
        with subtests.test(url=url):
            said = opened.refusal("navigate", url=url)
            assert said == f"{url!r} cannot be opened. Write an address with http:// or https://."
            assert opened.refusal("open_tab", url=url) == said
            assert opened.window.url == before
            assert len(opened.run(opened.window.tabs())) == 1


def test_an_address_where_nothing_listens_is_told(visit: Visits) -> None:
    """The network's error is a sentence."""
    with socket.socket() as taken:  # by one that does not listen, so that nobody else does
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        said = visit().refusal("navigate", url=url)
    assert said.startswith(f"{url} did not load: nothing listens there (ERR_CONNECTION_REFUSED).")


def test_an_origin_that_is_not_allowed_is_refused(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """It is refused before any request; what the page itself tries is blocked and told."""
    other = PageServer("127.0.0.2")
    evil = f"{other.url}/evil"
    try:
        url = pages.page("/shop", f"<a href='{evil}'>away</a>")
        guarded = configured(browser, allowed_origins=("https://shop.example",))
        with guarded, visiting(run, browser, tmp_path, url) as opened:
            said = opened.refusal("navigate", url=evil)
            assert said == f"{other.url} cannot be opened: it is not among the allowed origins."
            said = opened.output("click", target="text=away")
            assert f"{other.url} was blocked: it is not among the allowed origins." in said
            assert opened.output("navigate", url=url).startswith(f"Opened {url}")
        assert other.requests == []
    finally:
        other.close()


def test_a_page_that_never_answers_ends_with_the_limit(visit: Visits, pages: PageServer) -> None:
    """The navigation's limit is the window's; a click that led there is not one that found nothing."""
    pages.page("/never", "late", delay_s=30)
    opened = visit("<a href='/never'>Go</a><input aria-label='Word'>")
    opened.limit(navigation_s=0.3, action_s=1)
    late = "The page did not load in time."
    assert opened.refusal("click", target="text=Go") == late
    assert opened.refusal("fill", target="label=Word", text="while it loads") == late
    assert opened.refusal("navigate", url="/never") == late


def test_an_address_that_is_a_download_keeps_the_page(visit: Visits, pages: PageServer) -> None:
    """The download is told with name and size."""
    headers = {"Content-Disposition": "attachment; filename=bill.pdf"}
    pages.page("/bill", b"12345", media_type="application/pdf", headers=headers)
    opened = visit()
    before = opened.window.url
    assert opened.output("navigate", url="/bill") == (
        "The address is a download, and the page stays as it was. Downloaded file name 'bill.pdf' (5 bytes)."
    )
    assert opened.window.url == before


def test_history_goes_back_and_forward(visit: Visits, pages: PageServer) -> None:
    """Both tell where they arrived, and both refuse where there is nothing."""
    url = pages.page("/second", "<title>Second</title>")
    opened = visit()
    first = opened.window.url
    assert opened.refusal("go_forward") == "There is no page to go forward to."
    opened.output("navigate", url="/second")
    assert opened.output("go_back") == f"Went back to {first}, titled 'Page'."
    assert opened.output("go_forward") == f"Went forward to {url}, titled 'Second'."


def test_reload_loads_the_page_again(visit: Visits, pages: PageServer) -> None:
    """The server is asked a second time, and what was typed is gone."""
    opened = visit("<input>")
    asked = len(pages.requests)
    opened.js("document.title = 'changed'")
    assert opened.output("reload") == f"Reloaded {opened.window.url}, titled 'Page'."
    assert len(pages.requests) > asked


def test_wait_for_text_sees_what_a_user_sees(visit: Visits) -> None:
    """Case, line breaks and tags do not matter; hidden text does not count."""
    opened = visit(
        "<p>Thank\n<b>you</b>, Ann<p style='display:none'>secret</p><div id=d></div>"
        "<p>\u200fAmount\u200f \u202bdue\u202c</p><p>cafe\u0301 ﬁne</p>"
        "<script>setTimeout(() => { d.textContent = 'Later' }, 200)</script>"
    )
    for text in ("THANK you, ann", "later", "amount due", "Amount\u200b due", "café", "fine"):
        said = opened.output("wait_for_text", text=text, timeout_s=PATIENCE_S)
        assert said.endswith(" is on the page.")
    assert opened.refusal("wait_for_text", text="secret", timeout_s=0.2) == (
        "'secret' did not appear on the page within 0.2 s."
    )


def test_a_text_that_is_waited_for_may_come_with_the_next_page(visit: Visits, pages: PageServer) -> None:
    """Waiting survives a navigation."""
    pages.page("/next", "Welcome")
    opened = visit("<script>setTimeout(() => { location = '/next' }, 150)</script>")
    said = opened.output("wait_for_text", text="welcome", timeout_s=PATIENCE_S)
    assert said.startswith("'welcome' is on the page.")


def test_a_wait_may_be_for_a_part_and_until_it_is_gone(visit: Visits) -> None:
    """A spinner with or without words, and a text in one cell; what did not happen is an error."""
    opened = visit(
        "<div id=spin role=progressbar style='height:9px'></div><p id=a>Loading</p>"
        "<p id=b>Loading</p><script>setTimeout(() => { spin.remove(); a.textContent = 'Done' }, 300)</script>"
    )
    assert (
        opened.output("wait_for_text", target="#spin", gone=True, timeout_s=100)
        == "#spin is not on the page."
    )
    assert opened.output("wait_for_text", text="loading", target="#a", gone=True) == "'loading' is not in #a."
    assert opened.output("wait_for_text", text="done", target="#a") == "'done' is in #a."
    assert opened.output("wait_for_text", target="#a") == "#a is on the page."
    brief: dict[str, Any] = {"timeout_s": 0.2}
    said = opened.refusal("wait_for_text", text="Loading", gone=True, **brief)
    assert said == "'Loading' is still on the page after 0.2 s."
    said = opened.refusal("wait_for_text", text="Done", target="#b", **brief)
    assert said == "'Done' did not appear in #b within 0.2 s."
    assert (
        opened.refusal("wait_for_text", target="#c", **brief) == "#c did not appear on the page within 0.2 s."
    )
    assert opened.refusal("wait_for_text", text="x", target="p", **brief).startswith("p matches 2 elements: ")
    opened.js("document.body.insertAdjacentHTML('beforeend', '<p hidden id=h>x')")
    assert opened.output("wait_for_text", target="#h", gone=True) == "#h is not on the page."
