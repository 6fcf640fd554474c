"""What a person points at as proof, and the bar by which they do."""

from __future__ import annotations

from pytest_browsereval.features.record.recorder import HINTS
from tests.features.record.conftest import Record
from tests.features.record.hands import FINISH, Hands, find_button
from tests.features.record.items import contents, step
from tests.support import PageServer


def test_a_row_needs_checks_that_hold(record: Record) -> None:
    """`Finish` says what is missing, and ends nothing until the checks hold on the page as it is then."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await hands.press(FINISH)
        assert await hands.said() == "Add a check first: point at what proves that the task is done."
        await hands.press("Check text")
        await page.get_by_text("Before").click()
        await hands.settle()
        assert page.url.endswith("/")  # it was pointed at, and not clicked
        await page.get_by_role("link", name="On").click()
        await page.get_by_text("Behind").wait_for()
        await hands.press(FINISH)
        assert await hands.said() == (
            'This does not hold here: The page shows "Before". Remove it, or go where it holds.'
        )
        await hands.press("Undo")
        await hands.press("Undo")
        await hands.press("Check text")
        await page.keyboard.press("Escape")
        await hands.press("Check text")
        await page.get_by_text("Behind").click()
        await hands.press(FINISH)

    html = """<a href="#1" onclick="shown.textContent = 'Behind'">On</a><p id=shown>Before</p>"""
    assert contents(record(html, act, finishes=True)) == [{"text": "Behind"}]


def test_a_text_is_picked_as_checks_read_it(record: Record) -> None:
    """A selection needs no further click; boxes of their own are words, capitals of a style are not."""

    async def act(hands: Hands) -> None:
        await hands.page.get_by_text("42").dblclick()
        await hands.press("Check text")
        await hands.page.locator("h1").dblclick(position={"x": 20, "y": 10})
        await hands.press("Check text")
        await hands.press("Check text")
        await hands.page.locator("#tools").click(position={"x": 300, "y": 5})

    page = """<p>Order <b>42</b> is on its way</p><h1 style='text-transform: uppercase'>Ready</h1>
        <div id=tools><button>Save</button><button>Cancel</button></div>"""
    assert contents(record(page, act)) == [{"text": "42"}, {"text": "Ready"}, {"text": "Save Cancel"}]


def test_a_check_of_what_was_so_from_the_start(record: Record, pages: PageServer) -> None:
    """The bar says at once that it proves nothing: a text, a value, the address of the start page."""
    hint = "It was true from the start: alone it proves nothing."
    pages.page("/two", "<!doctype html><p>Two</p>")

    async def act(hands: Hands) -> None:
        page = hands.page
        for mode, target, is_old in (
            ("Check text", "#old", True),
            ("Check value", "select", True),
            ("Check value", "#box", False),
            ("Check text", "#new", False),
        ):
            if target == "#box":
                await page.locator("#box").click()
                await page.locator("button").click()
            await hands.press(mode)
            await page.locator(target).click()
            assert (hint in await hands.said()) == is_old, target
        await hands.press("Check address")
        assert hint in await hands.said()
        await page.get_by_role("link").click()
        await page.get_by_text("Two").wait_for()
        await hands.ready()
        await hands.press("Check address")
        assert hint not in await hands.said()

    html = """<p id=old>Here</p><select><option>Small<option>Large</select><input type=checkbox id=box>
        <button onclick="new_.textContent = 'Made'">Make</button><p id=new></p><a href="/two">On</a>
        <script>new_ = document.getElementById('new')</script>"""
    assert len([one for one in contents(record(html, act)) if "tool" not in one]) == 6


def test_the_state_before_the_click(record: Record) -> None:
    """A click that points at a box or a radio button switches it; the check has what was shown."""

    async def act(hands: Hands) -> None:
        for target in ("#on", "#off", "#blue", "label"):
            await hands.press("Check value")
            await hands.page.locator(target).click()
            assert (await hands.said()).startswith("Check added:"), target

    html = """<input type=checkbox id=on checked><input type=checkbox id=off>
        <input type=radio name=c id=red checked><input type=radio name=c id=blue>
        <input type=checkbox id=last checked><label for=last>Last</label>"""
    assert [one["equals"] for one in contents(record(html, act))] == [True, False, False, True]


def test_pointing_is_between_the_bar_and_the_person(record: Record) -> None:
    """A refusal is seen while the mode is on; keys are held back; no empty area and no long text is taken."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await hands.press("Check value")
        assert await hands.said() == HINTS["value"]
        await page.get_by_text("Just a text").click()
        assert await hands.said() == "That is not a field. Point at one, or press Esc."
        assert hands.recorder._is_warning
        await page.keyboard.press("x")
        assert await hands.said() == "Keys are held back while you point. Press Esc first."
        await page.keyboard.press("Escape")
        assert await hands.said() == HINTS[""]
        await page.keyboard.type("y")
        assert await page.input_value("input") == "y"
        await hands.press("Check text")
        await page.mouse.click(600, 300)
        assert (await hands.said()).startswith("That is the whole page.")
        await page.locator("#long").click()
        assert "Point at a text of up to 200 characters" in await hands.said()
        await page.keyboard.press("Escape")

    html = f"<p>Just a text</p><input autofocus><p id=long>{'word ' * 80}</p>"
    assert contents(record(html, act)) == [step("fill", "role=textbox", text="y")]


# -- documents and tabs


def test_the_bar_is_out_of_the_way(record: Record, pages: PageServer) -> None:
    """It can be dragged and stays there on the next page; it goes aside for a field that a key leads to."""
    pages.page("/two", "<!doctype html><p>Two</p>")

    async def act(hands: Hands) -> None:
        page = hands.page
        (x, low), high = await find_button(page, "Undo"), 40
        assert low > 500
        await page.mouse.move(x + 100, low + 24)  # beside all buttons
        await page.mouse.down()
        await page.mouse.move(x + 60, high, steps=3)
        await page.mouse.up()
        await hands.settle()
        assert (await find_button(page, "Undo"))[1] < 100
        await page.get_by_role("link").click()
        await page.get_by_text("Two").wait_for()
        await hands.ready()
        assert (await find_button(page, "Undo"))[1] < 100
        await page.go_back()
        await hands.ready()
        await page.get_by_role("link").focus()
        await page.keyboard.press("Tab")
        await hands.settle()
        assert (await find_button(page, "Undo"))[1] > 500

    record(
        '<input style="position: fixed; top: 20px; left: 400px" tabindex=2><a href="/two" tabindex=1>On</a>',
        act,
    )


def test_the_end_without_a_row(record: Record) -> None:
    """`Cancel` asks where there is something to lose; closing the window ends the recording."""

    async def cancel(hands: Hands) -> None:
        await hands.page.get_by_role("button").click()
        await hands.press("Cancel")
        assert (await hands.said()).startswith("End without a row?")
        await hands.press("Check address")  # which is to go on
        await hands.press("Cancel")
        assert not hands.waiting.done()
        await hands.press("Cancel")

    async def cancel_nothing(hands: Hands) -> None:
        await hands.press("Cancel")

    async def close(hands: Hands) -> None:
        await hands.page.close()

    for act in (cancel, cancel_nothing, close):
        assert record("<button>Buy</button>", act, finishes=True) is None
