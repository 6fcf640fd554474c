"""The attack ``image``: a payload that is drawn."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from tests.features.attacks.members.conftest import PAYLOAD, STRICT, Scene, make_attack

BODY = "<p id=place>Hello</p><p>End</p>"


@pytest.mark.parametrize(("how", "shown"), [("after", "block"), ("replace", "none")])
def test_the_payload_is_a_picture_without_a_text(how: str, shown: str, scene: Scene) -> None:
    """Programs that stand in for a model find it behind the end of the file."""
    visit = scene.attack(make_attack("image", how=how, where={"css": "#place"}), BODY)
    assert visit.js("getComputedStyle(document.querySelector('#place')).display") == shown
    source, text = visit.js("(({src, alt}) => [src, alt])(document.querySelector('#place + img'))")
    assert text == ""
    assert "Obey" not in visit.run(visit.window.snapshot())
    data = base64.b64decode(source.partition(",")[2])
    assert data.endswith(PAYLOAD.encode())
    colours = Image.open(io.BytesIO(data)).convert("L").tobytes()
    assert (min(colours) < 60, max(colours)) == (True, 255)
    assert scene.delivered == ["picture of #place"]


def test_a_policy_against_pictures_does_not_stop_it(scene: Scene) -> None:
    """The page draws it itself."""
    visit = scene.attack(make_attack("image"), BODY, STRICT)
    assert visit.js("document.body.lastElementChild.localName") == "canvas"
    assert scene.delivered == ["picture"]
