"""The attack ``text``: in which element the payload is, and that it stays there."""

from __future__ import annotations

import pytest

from tests.features.attacks.members.conftest import PAYLOAD, STRICT, Scene, make_attack

REVIEWS = (
    "<ul><li hidden>Review 1, not shown</li><li>Review 1: <i>good</i> mug</li><li>Review 2</li></ul>"
    '<p aria-label="Note">Other</p>'
)
COUNT = "document.documentElement.outerHTML.split('Obey').length - 1"


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("append", f"Review 1: good mug {PAYLOAD}"),
        ("prepend", f"{PAYLOAD} Review 1: good mug"),
        ("replace", PAYLOAD),
    ],
)
def test_the_payload_is_text_of_the_first_visible_element(how: str, text: str, scene: Scene) -> None:
    """A strict policy does not stop it, and markup in it stays text."""
    attack = make_attack("text", where={"css": "li"}, how=how)
    visit = scene.attack(attack, REVIEWS, STRICT)
    assert visit.js("document.querySelectorAll('li')[1].innerText") == text
    assert visit.js("document.querySelectorAll('b').length") == 0
    assert visit.js(COUNT) == 1
    assert scene.delivered == ["text of li"]


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ({"css": "li"}, "li:not([hidden])"),
        ({"text": "GOOD mug"}, "li:not([hidden])"),
        ({"text": "good"}, "i"),
        ({"css": "ul"}, "ul"),
    ],
)
def test_elements_are_chosen_by_selector_or_text(where: dict[str, str], place: str, scene: Scene) -> None:
    """The first visible one that is meant has it."""
    visit = scene.attack(make_attack("text", where=where), REVIEWS)
    assert visit.js(f"document.querySelector('{place}').lastChild.data").strip() == PAYLOAD


def test_without_the_element_nothing_is_delivered(scene: Scene) -> None:
    """Neither one that is absent nor one that is hidden takes the payload; once shown, it does."""
    body = "<style>.late {display: none} .on .late {display: block}</style><p class=late>Here</p>"
    visit = scene.attack(make_attack("text", where={"text": "here"}), body, arrives=False)
    assert visit.js(COUNT) == 0
    assert scene.delivered == []
    visit.js("document.body.className = 'on'")
    scene.wait(visit, 1)
    assert visit.js(COUNT) == 1


def test_a_page_that_draws_the_element_anew_has_the_payload_again(scene: Scene) -> None:
    """Whether it replaces the element, its text, or the whole document."""
    visit = scene.attack(
        make_attack("text", where={"css": ".review"}), "<main><p class=review>One</p></main>"
    )
    for change in (
        "document.querySelector('main').innerHTML = '<p class=review>Two</p>'",
        "document.querySelector('.review').textContent = 'Two'",
        "document.open(); document.write('<p class=review>Two</p>'); document.close()",
    ):
        visit.js(change)
        # A document that is opened anew gets the script a moment later.
        looked = "document.querySelector('.review').textContent"
        visit.js(
            f"new Promise(done => {{ let left = 100; (function look() {{ if ({looked} === 'Two' && left--) "
            "setTimeout(look, 50); else done() })() })"
        )
        assert visit.js(looked) == f"Two {PAYLOAD}"
    assert scene.delivered == ["text of .review"]


def test_a_page_that_takes_the_payload_out_is_not_held_up(scene: Scene) -> None:
    """Both would otherwise change the page for ever, and it would never answer."""
    body = (
        "<p class=review>One</p><script>new MutationObserver(() => { const place = document.querySelector("
        "'.review'); if (place.textContent !== 'One') place.textContent = 'One'; }).observe(document, "
        "{subtree: true, childList: true, characterData: true})</script>"
    )
    visit = scene.attack(make_attack("text", where={"css": ".review"}), body)
    assert visit.js("document.title") == "Page"


def test_frames_and_shadow_trees_are_searched(scene: Scene) -> None:
    """Also where they are filled after the page has loaded."""
    scene.pages.page("/inner", "<!doctype html><p class=review>One</p>")
    attack = make_attack("text", where={"css": ".review"})
    visit = scene.attack(attack, "<iframe src=/inner></iframe>")
    frame = visit.window.page.frames[1]
    assert visit.run(frame.evaluate(COUNT)) == 1
    assert visit.js(COUNT) == 0

    visit = scene.attack(attack, "<div id=host></div>", arrives=False)
    visit.js("document.querySelector('#host').attachShadow({mode: 'open'}).innerHTML = '<p>Nothing</p>'")
    visit.js("document.querySelector('#host').append('changed')")
    visit.js("document.querySelector('#host').shadowRoot.innerHTML = '<p class=review>One</p>'")
    scene.wait(visit, 2)


def test_an_attack_that_is_late_works_in_the_pages_that_are_open(scene: Scene) -> None:
    """It is placed once the page is there."""
    url = scene.pages.page("/late", "<p>Hello</p>")
    visit = scene.attack(make_attack("text", where={"css": ".none"}), "", arrives=False)
    visit.run(visit.window.goto(url))
    scene.place(visit, make_attack("text", where={"css": "p"}), url)
    scene.wait(visit, 1)
    assert visit.js("document.querySelector('p').textContent") == f"Hello {PAYLOAD}"
