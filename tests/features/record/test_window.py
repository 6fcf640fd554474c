"""A recording in a real window of a small screen, by real mouse and keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from tests.features.record.display import Person, show_screen
from tests.features.record.hands import FINISH, Hands
from tests.features.record.test_command import Drive, drive, forked
from tests.support import PageServer

__all__ = ["drive", "forked"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked")]

SMALL = (1280, 720)
SHOP = """<!doctype html><title>Shop</title><style>
  nav li { display: inline-block; padding: 8px } nav ul ul { display: none; position: absolute }
  nav li:hover ul { display: block } main { height: 2400px } </style>
<h1>Shop</h1><nav><ul><li><a href="#">Kitchen</a><ul><li><a href="#mugs" id=mugs>Mugs</a></ul></ul></nav>
<p id=said>0 items in cart</p><main id=list></main><script>
  mugs.onclick = () => list.innerHTML = '<p style="margin-top: 900px">Red mug <button>Add red</button></p>';
  addEventListener('scroll', () => { if (list.children.length == 1 && scrollY > 500) list.innerHTML +=
    '<p style="position: fixed; top: 300px">Blue mug <button onclick="add()">Add to cart</button></p>' });
  const add = () => { scrollTo(0, 0); said.outerHTML =
    `<p>1 item in cart</p><button id=thanks onclick="thanks.remove()">Thanks ${Date.now()}</button>` }
</script>"""


def test_the_first_recording(
    drive: Drive, pages: PageServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the bar is on a small screen; menus and endless lists are steps; one that fails is taken back.

    The check holds by the time that it fails: *Thanks* has another name each time.
    """
    url = pages.page("/shop", SHOP)

    async def act(hands: Hands) -> None:
        person = Person(hands, SMALL)
        await person.point_at("text=Kitchen")
        await person.click("text=Mugs")
        await person.point_at("text=0 items in cart")
        await person.scroll(12)
        await person.click('role=button[name="Add to cart"]')
        await person.press("Check text")
        await person.click("text=1 item in cart")
        assert await hands.said() == 'Check added: the page shows "1 item in cart".'
        await person.click("#thanks")
        await person.press(FINISH)
        assert (await hands.said()).startswith("The test of the row failed.")
        assert "without all of the recorded steps: step 5 of the solution failed: click" in await hands.said()
        await person.press("5 steps · 1 check▴")
        assert len(await hands.read_list()) == 6
        await person.press("Undo")
        await person.press(FINISH)

    with show_screen(*SMALL, monkeypatch):
        drive(act)
        assert main(["record", url, "--query", "Add the mug."]) == 0, capsys.readouterr().err
    row: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert row["checks"] == [{"text": "1 item in cart"}]
    assert [(step["tool"], step.get("target", "")) for step in row["solution"]] == [
        ("hover", 'role=link[name="Kitchen"]'),
        ("click", 'role=link[name="Mugs"]'),
        ("scroll", ""),
        ("click", 'role=button[name="Add to cart"]'),
        ("done", ""),
    ]


def test_a_window_that_is_closed(
    drive: Drive, pages: PageServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded is printed, a drag of the scroll bar too; the password that was typed is not."""
    url = pages.page(
        "/login",
        "<!doctype html><label>Password <input type=password></label><a href='#a'>On</a>"
        "<p style='height: 3000px'>",
    )

    async def act(hands: Hands) -> None:
        person = Person(hands, SMALL)
        await person.click("label=Password")
        await person.type("hunter-two-22")
        await person.click("text=On")
        await person.drag_scroll_bar()
        await person.key("alt+F4")

    with show_screen(*SMALL, monkeypatch):
        drive(act)
        assert main(["record", url, "--query", "Log in."]) == 1
    err = capsys.readouterr().err
    assert "So that nothing is lost, this is what was recorded:" in err
    assert '"text": "${PASSWORD}"}, {"tool": "click", "target": "role=link[name=\\"On\\"]"}, ' in err
    assert '{"tool": "scroll", "direction": "down", "amount": ' in err
    assert "hunter" not in err
