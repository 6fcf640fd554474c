"""What is recorded of clicks and keys in a real window."""

from __future__ import annotations

from tests.features.record.conftest import Record
from tests.features.record.hands import Hands


def test_a_form(record: Record) -> None:
    """What is typed is one `fill`, the click that gave the focus is no step, a box is checked."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Name").click()
        await page.keyboard.type("Ada")
        await page.keyboard.press("Tab")
        await page.keyboard.type("ada@x.test")
        await page.get_by_label("News").click()
        await page.keyboard.press("Tab")
        await page.keyboard.press("ArrowDown")
        await page.get_by_role("button", name="Send").click()
        await page.get_by_text("Thank you").wait_for()
        await hands.press("Check text")
        await page.get_by_text("Thank you").click()
        await hands.press("Check value")
        await page.get_by_label("Name").click()
        await hands.press("Check address")
        await hands.press("Finish")

    items = record(
        """<form onsubmit="event.preventDefault(); said.textContent = 'Thank you'">
        <label>Name <input id=name></label> <label for=m>Mail</label> <input id=m type=email>
        <label><input type=checkbox> News</label>
        <label>Size <select><option>Small<option>Large</select></label>
        <button>Send</button></form><p id=said></p>""",
        act,
        finishes=True,
    )
    assert items is not None
    assert [item.content for item in items] == [
        {"tool": "fill", "target": 'role=textbox[name="Name"]', "text": "Ada"},
        {"tool": "fill", "target": 'role=textbox[name="Mail"]', "text": "ada@x.test"},
        {"tool": "check", "target": 'role=checkbox[name="News"]'},
        {"tool": "select_option", "target": 'role=combobox[name="Size"]', "value": "Large"},
        {"tool": "click", "target": 'role=button[name="Send"]'},
        {"text": "Thank you"},
        {"js": 'document.querySelector("#name")?.value', "equals": "Ada"},
        {"url": items[-1].content["url"]},
    ]
