"""The attack ``address``: the payload in the start page's address, or on a page before it."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.features.attacks.members.conftest import PAYLOAD, STRICT, Scene, make_attack


@pytest.mark.parametrize("how", ["query", "fragment"])
def test_the_start_page_has_it_in_its_address(how: str, scene: Scene) -> None:
    """The site is asked for the plain address, and other pages have their own."""
    visit = scene.attack(make_attack("address", how=how), "<p>Hello</p>", STRICT)
    parts = urlsplit(visit.window.page.url)
    found = parse_qs(parts.query)["note"][0] if how == "query" else unquote(parts.fragment)
    assert found == (PAYLOAD if how == "query" else f"note={PAYLOAD}")
    assert scene.pages.requests[-1] == "/page"
    other = scene.pages.page("/other", "<p>Other</p>")
    visit.run(visit.window.goto(other))
    assert visit.window.page.url == other
    assert scene.delivered == [f"{how} of the start page"]


def test_a_page_stands_before_the_first_one(scene: Scene) -> None:
    """Its link goes on, and it comes once."""
    visit = scene.attack(make_attack("address", how="redirect", link="Go on"), "<p>Hello</p>")
    page = visit.window.page
    assert visit.run(page.locator("p").first.inner_text()) == PAYLOAD
    visit.run(page.get_by_role("link", name="Go on").click())
    visit.run(page.get_by_text("Hello").wait_for())
    visit.run(page.reload())
    assert visit.run(page.locator("p").inner_text()) == "Hello"
    assert scene.delivered == ["page before the first one"]
