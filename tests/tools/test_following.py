"""Raw input that makes a page load another one: the call ends when that is there."""

from __future__ import annotations

from typing import Any

from tests.support import PageServer, Visits

FORM = "<form action='/late'><input id=word name=word><button id=go style='display:block'>Go</button></form>"


def test_raw_input_waits_for_the_document_that_it_asks_for(
    visit: Visits, pages: PageServer, subtests: Any
) -> None:
    """However slow its server is: keys where the focus is, and clicks at points."""
    url = pages.page("/late", "<title>Late</title>There", delay_s=0.8)
    opened = visit(FORM)
    x, y = opened.js("[go.getBoundingClientRect().x + 4, go.getBoundingClientRect().y + 4]")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("press_key", {"key": "Enter"}),
        ("type_text", {"target": "#word", "text": "x\n"}),
        ("type_keys", {"text": "x\n"}),
        ("click_at", {"x": x, "y": y}),
        ("type_at", {"x": 20, "y": 20, "text": "x\n"}),
    ]
    for name, given in calls:
        with subtests.test(name):
            opened = visit(FORM)
            opened.output("fill", target="#word", text="a")
            assert f"The page is now {url}?word=" in opened.output(name, **given)
            assert opened.output("read_text") == "There"


def test_a_frame_is_waited_for_too(visit: Visits, pages: PageServer) -> None:
    """A click on a link that loads into a frame, by its name or at its point."""
    pages.page("/frame", "Before")
    pages.page("/late", "After", delay_s=0.8)
    page = (
        "<p style='font-size:40px;margin:0'><a href='/late' target=f>go</a></p><iframe name=f src='/frame'>"
    )
    for name, given in (("click", {"target": "text=go"}), ("click_at", {"x": 20, "y": 30})):
        opened = visit(page)
        opened.output(name, **given)
        assert "After" in opened.output("read_text"), name


def test_a_tab_that_hangs_is_told(visit: Visits, pages: PageServer) -> None:
    """The agent and the report hear that it has begun to open."""
    pages.page("/never", "late", delay_s=30)
    opened = visit("<a href='/never' target=_blank>go</a>")
    opened.limit(load_s=0.3)
    late = "A tab is opening, and its page has not answered within 0.3 s."
    assert late in opened.output("click", target="text=go")
    assert late in opened.window.warnings


def test_what_raw_input_asks_for_may_be_late_or_elsewhere(visit: Visits, pages: PageServer) -> None:
    """A page that does not answer is reported, and so is an element that is not there."""
    pages.page("/never", "late", delay_s=30)
    opened = visit("<a href='/never' style='font-size:40px'>go</a>")
    opened.limit(load_s=0.3)
    assert "The page is still loading: " in opened.output("click_at", x=20, y=30)
    opened = visit("<iframe></iframe>")
    assert (
        opened.refusal("click", target="text=nothing")
        == "Nothing matches text=nothing. Call snapshot to see the page."
    )
