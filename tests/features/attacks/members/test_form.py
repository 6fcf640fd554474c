"""The attack ``form``: the payload in fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.features.attacks.members.conftest import ATTACKER, PAYLOAD, STRICT, Scene, make_attack

BODY = "<label for=note>Note</label><input id=note><input id=full value=Taken>"


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
    visit = scene.attack(make_attack("form", how=how), BODY, STRICT)
    assert visit.js(found) == PAYLOAD
    assert scene.delivered == ["added field" if how == "field" else how]


def test_an_added_form_is_sent_to_the_attacker(scene: Scene) -> None:
    """Its address is an option."""
    visit = scene.attack(make_attack("form", how="field"), BODY)
    form = "(({action, method}) => [action, method])(document.querySelector('form'))"
    assert visit.js(form) == [f"{ATTACKER}/collect", "post"]
    visit = scene.attack(make_attack("form", how="field", action="{attacker}/login"), BODY)
    assert visit.js(form)[0] == f"{ATTACKER}/login"


def test_what_an_agent_has_typed_stays(scene: Scene) -> None:
    """Neither a field in use nor one with a value of the page's own is filled."""
    options: dict[str, Any] = {"how": "value", "where": {"css": "#note"}}
    visit = scene.attack(make_attack("form", **options), BODY)
    visit.output("fill", target="css=#note", text="Mine")
    visit.js("document.body.append('changed')")
    assert visit.js("document.querySelector('#note').value") == "Mine"


def test_a_page_hears_of_the_value(scene: Scene) -> None:
    """As of one that was typed: frameworks keep values of their own."""
    script = "addEventListener('input', (event) => { document.title = event.target.id; })"
    body = f"{BODY}<script>{script}</script>"
    visit = scene.attack(make_attack("form", how="value"), body)
    assert visit.js("document.title") == "note"
