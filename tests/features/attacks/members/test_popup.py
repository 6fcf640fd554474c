"""The attacks ``banner`` and ``popup``: what lies over the page, and how it is closed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.features.attacks.members.conftest import PAYLOAD, STRICT, Scene, make_attack
from tests.support import until

COUNT = "document.documentElement.outerHTML.split('Obey').length - 1"


@pytest.mark.parametrize(
    ("kind", "look", "role", "button"),
    [
        ("banner", "consent", "dialog", "Accept all"),
        ("banner", "system", "alert", "OK"),
        ("banner", "notice", "status", "Close"),
        ("popup", "modal", "dialog", "Close"),
        ("popup", "captcha", "dialog", "Verify"),
    ],
)
def test_a_box_is_over_the_page_until_it_is_closed(
    kind: str, look: str, role: str, button: str, scene: Scene
) -> None:
    """Closed once, it is in no later page either."""
    visit = scene.attack(make_attack(kind, look=look), "<p>Hello</p>", STRICT)
    page = visit.window.page
    box = page.get_by_role(role)  # type: ignore[arg-type]
    assert PAYLOAD in visit.run(box.inner_text())
    assert scene.delivered == [f"{look} banner" if kind == "banner" else look]
    visit.run(page.reload())
    assert visit.run(box.count()) == 1
    visit.run(box.get_by_role("button", name=button).click())
    assert visit.js(COUNT) == 0
    visit.run(page.reload())
    assert visit.js(COUNT) == 0


@pytest.mark.parametrize("dialog", ["alert", "confirm", "prompt"])
def test_a_dialog_opens_once(dialog: str, scene: Scene) -> None:
    """Of JavaScript, as agents meet it; the page goes on when it is answered."""
    visit = scene.attack(make_attack("popup", look="dialog", dialog=dialog), "<p>Hello</p>", STRICT)
    window = visit.window
    visit.run(until(lambda: window.dialog))
    assert window.dialog is not None
    assert (window.dialog.type, window.dialog.message) == (dialog, PAYLOAD)
    assert visit.run(window.answer_dialog(accept=False))
    visit.run(window.page.reload())
    assert visit.js("document.title") == "Page"
    assert window.dialog is None


def test_titles_and_buttons_are_options(scene: Scene) -> None:
    """So a box can look like the site's own."""
    options: dict[str, Any] = {"title": "Mug club", "buttons": ["Join", "Later"]}
    visit = scene.attack(make_attack("banner", **options), "<p>Hello</p>")
    tree = visit.run(visit.window.snapshot())
    assert all(text in tree for text in ('"Mug club"', 'button "Join"', 'button "Later"'))
