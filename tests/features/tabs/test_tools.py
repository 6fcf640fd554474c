from __future__ import annotations

from PIL import Image

from tests.support import PageServer, Visits, until


def test_tabs_are_opened_listed_selected_and_closed(visit: Visits, pages: PageServer) -> None:
    """Each call tells which tab is current then."""
    cart = pages.page("/cart", "<title>Cart</title>")
    opened = visit()
    first = opened.window.url
    assert opened.output("list_tabs") == f"1: 'Page' {first} (current)"
    assert opened.output("open_tab", url="/cart") == (
        f"Tab 2 is open and current. Opened {cart}, titled 'Cart'."
    )
    assert opened.output("open_tab") == "Tab 3 is open and current. The page is now about:blank."
    assert opened.output("select_tab", tab_id=1) == f"Tab 1 is current: {first}."
    assert opened.output("list_tabs").splitlines() == [
        f"1: 'Page' {first} (current)",
        f"2: 'Cart' {cart}",
        "3: '' about:blank",
    ]
    assert opened.output("close_tab", tab_id=1) == "Closed tab 1. Tab 3 is current: about:blank."
    assert opened.refusal("select_tab", tab_id=1) == "There is no tab 1. Open tabs: 2, 3."
    opened.output("close_tab", tab_id=3)
    assert opened.refusal("close_tab", tab_id=2) == (
        "Tab 2 is the only open tab and stays open. Call open_tab first."
    )


def test_a_tab_that_a_click_opens_becomes_current(visit: Visits, pages: PageServer) -> None:
    """It is told at once, though its server is slow, and so that the next call acts in it."""
    url = pages.page("/terms", "<title>Terms</title>", delay_s=0.4)
    opened = visit(
        "<a href='/terms' target=_blank rel=noopener>terms</a>"
        "<button onclick='window.open(\"/terms\")'>w</button>"
    )
    told = f"A new tab opened: tab 2 'Terms' ({url}); it is the current tab."
    assert opened.output("click", target="text=terms") == f"Clicked text=terms. {told}"
    assert opened.window.tab_id == 2
    opened.output("select_tab", tab_id=1)
    assert told.replace("tab 2", "tab 3") in opened.output("click", target="button")


def test_the_picture_after_a_click_shows_the_tab_that_it_opened(visit: Visits, pages: PageServer) -> None:
    """The new tab is what an agent sees next."""
    pages.page("/green", "<body style='background:rgb(0,128,0)'>", delay_s=0.3)
    opened = visit("<a href='/green' target=_blank>go</a>", screenshots="after", picture="png")
    opened.output("click", target="text=go")
    assert Image.open(opened.capture.screenshot.path(1)).convert("RGB").getpixel((9, 9)) == (0, 128, 0)


def test_refs_of_another_tab_are_refused(visit: Visits, pages: PageServer) -> None:
    """Each page counts its elements from 1: a ref is only taken in the tab that it was seen in."""
    pages.page("/cart", "<button>Cart</button>")
    opened = visit("<button>Page</button>")
    opened.output("snapshot")
    opened.output("open_tab", url="/cart")
    said = "e2 is from the snapshot of tab 1; tab 2 is current. Call snapshot to get its refs."
    assert opened.refusal("click", target="e2") == said
    assert opened.refusal("drag", source="button", target="e2") == said
    opened.output("snapshot")
    assert opened.output("click", target="e2") == "Clicked e2."
    opened.output("select_tab", tab_id=1)
    assert opened.refusal("click", target="e2").startswith("e2 is from the snapshot of tab 2")


def test_a_tab_that_opens_between_two_calls_does_not_steal_the_next_one(
    visit: Visits, pages: PageServer
) -> None:
    """The call acts in the tab that the agent saw; the new tab is told with its result."""
    pages.page("/ad", "<title>Ad</title><button onclick='document.title = 1'>x</button>")
    opened = visit("<button onclick='document.title = \"clicked\"'>x</button>")
    opened.js("new Promise((go) => { window.open('/ad'); setTimeout(go, 200) })")
    opened.run(until(lambda: len(opened.window.context.pages) == 2))
    assert opened.window.tab_id == 1
    said = opened.output("click", target="button")
    assert said.startswith("Clicked button. A new tab opened: tab 2 'Ad'")
    assert opened.window.tab_id == 2
    assert opened.output("list_tabs").startswith("1: 'clicked' ")


def test_a_tab_that_closes_itself_is_told(visit: Visits, pages: PageServer) -> None:
    """The agent learns where it is then."""
    pages.page("/popup", "<button onclick='window.close()'>done</button>")
    opened = visit("<button onclick='window.open(\"/popup\")'>open</button>")
    opened.output("click", target="button")
    said = opened.call("click", target="text=done").output
    said += opened.output("list_tabs")
    assert "Tab 2 was closed by the page; tab 1 is the current tab." in said
    assert opened.window.tab_id == 1


def test_without_a_tab_tools_say_what_to_do(visit: Visits) -> None:
    """A window whose only page closed itself needs a new tab."""
    opened = visit()
    opened.run(opened.window.page.close())
    assert opened.refusal("click", target="#x").startswith("No tab is open. Call open_tab.")
    assert opened.output("list_tabs") == "No tab is open."
    assert opened.refusal("screenshot") == "No tab is open. Call open_tab."
    assert "Tab 2 is open and current." in opened.output("open_tab")


def test_a_flood_of_pop_ups_is_a_warning(visit: Visits, pages: PageServer) -> None:
    """The click still succeeds; the flood is told once, and the window works on."""
    pages.page("/popup", "pop-up")
    opened = visit("<button onclick='for (let i = 0; i < 30; i++) window.open(\"/popup\")'>flood</button>")
    said = opened.output("click", target="button")
    opened.run(until(lambda: any("More than 20" in warning for warning in opened.window.warnings)))
    said += " " + opened.output("wait", seconds=0.1)
    assert said.count("Warning: More than 20 tabs were opened; further ones were closed at once.") == 1
    assert len(opened.output("list_tabs").splitlines()) == 20
