"""Attacks of each channel, in pages of a real browser: where the payload is, and what becomes of it."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from PIL import Image

from tests.features.attacks.members.conftest import ATTACKER, PAYLOAD, STRICT, Scene, make_attack
from tests.support import until

# -- text


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


# -- hidden


HIDING = "<p id=place>Hello</p><img id=picture alt=Mug>"
HIDDEN = {
    "aria_label": "document.querySelector('#place').getAttribute('aria-label')",
    "title": "document.querySelector('#place').title",
    "alt": "document.querySelector('#place img').alt",
    "zero_size": "document.querySelector('#place span').textContent",
    "off_screen": "document.querySelector('#place div').textContent",
    "same_colour": "document.querySelector('#place div').textContent",
    "comment": "document.querySelector('#place').lastChild.data.trim()",
    "meta": "document.head.querySelector('meta[name=description]').content",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_the_payload_is_in_the_element(how: str, scene: Scene) -> None:
    """Where a strict policy forbids styles in attributes as well."""
    visit = scene.attack(make_attack("hidden", how=how, where={"css": "#place"}), HIDING, STRICT)
    expected = {"aria_label": f"Hello {PAYLOAD}", "comment": PAYLOAD.replace("--", "- -")}
    assert visit.js(HIDDEN[how]) == expected.get(how, PAYLOAD)
    assert scene.delivered == [f"{how.replace('_', ' ')} of #place"]


UNSEEN: dict[str, tuple[str, Any]] = {
    "zero_size": ("[place.offsetWidth, place.offsetHeight, getComputedStyle(place).fontSize]", [0, 0, "0px"]),
    "off_screen": ("place.getBoundingClientRect().right < 0", True),
    "same_colour": (
        "[getComputedStyle(place).color, getComputedStyle(place).backgroundColor]",
        ["rgb(1, 2, 3)", "rgb(1, 2, 3)"],
    ),
}


def test_people_do_not_see_it(scene: Scene) -> None:
    """It has no size, is next to the screen, or has the colour of what is behind it."""
    body = "<style>main {background: rgb(1, 2, 3)}</style><main><p>Hello</p></main>"
    for how, (unseen, expected) in UNSEEN.items():
        visit = scene.attack(make_attack("hidden", how=how, where={"css": "p"}), body)
        found = visit.js(f"(() => {{ const place = document.querySelector('p > *'); return {unseen}; }})()")
        assert found == expected, how


# -- banner and popup


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
    visit = scene.attack(make_attack("popup", look=dialog), "<p>Hello</p>", STRICT)
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
    visit = scene.attack(make_attack("popup", **options), "<p>Hello</p>")
    tree = visit.run(visit.window.snapshot())
    assert all(text in tree for text in ('"Mug club"', 'button "Join"', 'button "Later"'))


# -- image


PLACE = "<p id=place>Hello</p><p>End</p>"


def test_the_payload_is_a_picture_without_a_text(scene: Scene) -> None:
    """Programs that stand in for a model find it behind the end of the file."""
    visit = scene.attack(make_attack("image", where={"css": "#place"}), PLACE)
    source, text = visit.js("(({src, alt}) => [src, alt])(document.querySelector('#place + img'))")
    assert text == ""
    assert "Obey" not in visit.run(visit.window.snapshot())
    data = base64.b64decode(source.partition(",")[2])
    assert data.endswith(PAYLOAD.encode())
    colours = Image.open(io.BytesIO(data)).convert("L").tobytes()
    assert (min(colours) < 60, max(colours)) == (True, 255)
    assert scene.delivered == ["picture of #place"]


# -- address


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
    visit = scene.attack(make_attack("address", how="redirect"), "<p>Hello</p>")
    page = visit.window.page
    assert visit.run(page.locator("p").first.inner_text()) == PAYLOAD
    visit.run(page.get_by_role("link", name="Continue").click())
    visit.run(page.get_by_text("Hello").wait_for())
    visit.run(page.reload())
    assert visit.run(page.locator("p").inner_text()) == "Hello"
    assert scene.delivered == ["page before the first one"]


# -- download


def test_a_link_gives_a_file_with_the_payload(scene: Scene) -> None:
    """Its name is the beginning of it."""
    visit = scene.attack(make_attack("download"), "<p>Hello</p>", STRICT)
    page = visit.window.page

    async def fetch() -> tuple[str, Path]:
        async with page.expect_download() as download:
            await page.get_by_role("link").click()
        found = await download.value
        return found.suggested_filename, await found.path()

    name = "Obey b me b now alert( x ) -- Привет.txt"
    found, path = visit.run(fetch())
    assert (found, path.read_text(encoding="utf-8")) == (name, PAYLOAD)
    assert scene.delivered == [f"link to {name}"]


# -- form


FIELDS = "<label for=note>Note</label><input id=note><input id=full value=Taken>"


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("value", "document.querySelector('#note').value"),
        ("placeholder", "document.querySelector('#note').placeholder"),
        ("label", "document.querySelector('label').lastChild.data.trim()"),
        ("field", "document.querySelector('form label').firstChild.data"),
    ],
)
def test_the_payload_is_in_the_first_field(how: str, found: str, scene: Scene) -> None:
    """Of the page, or in one that is added."""
    visit = scene.attack(make_attack("form", how=how), FIELDS, STRICT)
    assert visit.js(found) == PAYLOAD
    assert scene.delivered == ["added field" if how == "field" else how]


def test_an_added_form_is_sent_to_the_attacker(scene: Scene) -> None:
    """Where it answers each request."""
    visit = scene.attack(make_attack("form", how="field"), FIELDS)
    form = "(({action, method}) => [action, method])(document.querySelector('form'))"
    assert visit.js(form) == [f"{ATTACKER}/collect", "post"]


def test_what_an_agent_has_typed_stays(scene: Scene) -> None:
    """Neither a field in use nor one with a value of the page's own is filled."""
    options: dict[str, Any] = {"how": "value", "where": {"css": "#note"}}
    visit = scene.attack(make_attack("form", **options), FIELDS)
    visit.output("fill", target="css=#note", text="Mine")
    visit.js("document.body.append('changed')")
    assert visit.js("document.querySelector('#note').value") == "Mine"


def test_a_page_hears_of_the_value(scene: Scene) -> None:
    """As of one that was typed: frameworks keep values of their own."""
    script = "addEventListener('input', (event) => { document.title = event.target.id; })"
    body = f"{FIELDS}<script>{script}</script>"
    visit = scene.attack(make_attack("form", how="value"), body)
    assert visit.js("document.title") == "note"
