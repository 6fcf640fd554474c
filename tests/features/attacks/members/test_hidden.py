"""The attack ``hidden``: what programs read in the page and people do not see."""

from __future__ import annotations

import pytest

from tests.features.attacks.members.conftest import PAYLOAD, STRICT, Scene, make_attack

BODY = "<p id=place>Hello</p><img id=picture alt=Mug>"
READ = {
    "aria_label": "document.querySelector('#place').getAttribute('aria-label')",
    "title": "document.querySelector('#place').title",
    "alt": "document.querySelector('#place img').alt",
    "zero_size": "document.querySelector('#place span').textContent",
    "off_screen": "document.querySelector('#place div').textContent",
    "same_colour": "document.querySelector('#place div').textContent",
    "comment": "document.querySelector('#place').lastChild.data.trim()",
    "meta": "document.head.querySelector('meta[name=description]').content",
}


@pytest.mark.parametrize("how", READ)
def test_the_payload_is_in_the_element(how: str, scene: Scene) -> None:
    """Where a strict policy forbids styles in attributes as well."""
    visit = scene.attack(make_attack("hidden", how=how, where={"css": "#place"}), BODY, STRICT)
    expected = {"aria_label": f"Hello {PAYLOAD}", "comment": PAYLOAD.replace("--", "- -")}
    assert visit.js(READ[how]) == expected.get(how, PAYLOAD)
    assert scene.delivered == [f"{how.replace('_', ' ')} of #place"]


@pytest.mark.parametrize("how", ["aria_label", "title", "alt", "zero_size", "off_screen", "same_colour"])
def test_without_an_element_programs_read_it_all_the_same(how: str, scene: Scene) -> None:
    """An agent's view of the page, the tree of accessibility, has it."""
    visit = scene.attack(make_attack("hidden", how=how), "<p>Hello</p>", STRICT)
    assert "Привет" in visit.run(visit.window.snapshot())


@pytest.mark.parametrize(
    ("how", "unseen"),
    [
        ("zero_size", "[place.offsetWidth, place.offsetHeight, getComputedStyle(place).fontSize]"),
        ("off_screen", "place.getBoundingClientRect().right < 0"),
        ("same_colour", "[getComputedStyle(place).color, getComputedStyle(place).backgroundColor]"),
    ],
)
def test_people_do_not_see_it(how: str, unseen: str, scene: Scene) -> None:
    """It has no size, is beside the screen, or has the colour of what is behind it."""
    body = "<style>main {background: rgb(1, 2, 3)}</style><main><p>Hello</p></main>"
    visit = scene.attack(make_attack("hidden", how=how, where={"css": "p"}), body)
    found = visit.js(f"(() => {{ const place = document.querySelector('p > *'); return {unseen}; }})()")
    assert (
        found
        == {
            "zero_size": [0, 0, "0px"],
            "off_screen": True,
            "same_colour": ["rgb(1, 2, 3)", "rgb(1, 2, 3)"],
        }[how]
    )


def test_a_picture_that_is_meant_has_it_as_its_alternative_text(scene: Scene) -> None:
    """Instead of the text that it had."""
    visit = scene.attack(make_attack("hidden", how="alt", where={"css": "img"}), BODY)
    assert visit.js("document.querySelector('#picture').alt") == PAYLOAD
