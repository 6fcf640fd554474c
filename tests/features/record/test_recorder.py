"""What is recorded of clicks and keys in a real window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.features.record.recorder import HINTS
from pytest_browsereval.features.record.steps import Item
from tests.features.record.conftest import Record
from tests.features.record.hands import FINISH, REMOVE, Hands, find_button
from tests.support import PageServer

SAY = "<p id=said></p><script>function say(text) { said.textContent = text }</script>"


def contents(items: list[Item] | None) -> list[dict[str, Any]]:
    assert items is not None
    return [item.content for item in items]


def step(tool: str, target: str = "", **more: Any) -> dict[str, Any]:
    return {"tool": tool, **({"target": target} if target else {}), **more}


def test_a_form(record: Record) -> None:
    """What is typed is one `fill`, a box is checked; of several options all that are chosen are one step."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Name").click()
        await page.keyboard.type("Ada")
        await page.keyboard.press("Tab")
        await page.keyboard.type("ada@x.test")
        await page.get_by_label("News").click()
        await page.keyboard.press("Tab")
        await page.keyboard.press("ArrowDown")
        for name in ("Red", "Blue"):
            await page.get_by_role("option", name=name).click(modifiers=["Control"])
        await page.get_by_role("button", name="Send").click()
        await page.get_by_text("Thank you").wait_for()
        await hands.press("Check text")
        await page.get_by_text("Thank you").click()
        await hands.press("Check value")
        await page.get_by_label("Name").click()
        await hands.press("Check address")
        await hands.press(FINISH)

    items = record(
        """<form onsubmit="event.preventDefault(); said.textContent = 'Thank you'">
        <label>Name <input id=name></label> <label for=m>Mail</label> <input id=m type=email>
        <label><input type=checkbox> News</label>
        <label>Size <select><option>Small<option>Large</select></label>
        <select multiple aria-label=Colour><option>Red<option>Green<option>Blue</select>
        <button>Send</button></form><p id=said></p>""",
        act,
        finishes=True,
    )
    assert items is not None
    assert contents(items) == [
        step("fill", 'role=textbox[name="Name"]', text="Ada"),
        step("fill", 'role=textbox[name="Mail"]', text="ada@x.test"),
        step("check", 'role=checkbox[name="News"]'),
        step("select_option", 'role=combobox[name="Size"]', value="Large"),
        step("select_option", 'role=listbox[name="Colour"]', values=["Red", "Blue"]),
        step("click", 'role=button[name="Send"]'),
        {"text": "Thank you"},
        {"field": "Name", "equals": "Ada"},
        {"url": items[-1].content["url"]},
    ]


def test_a_menu_that_closes_at_once(record: Record) -> None:
    """A target is looked at when a person points at it; a part that is hidden by then keeps its role."""

    async def act(hands: Hands) -> None:
        await hands.page.get_by_role("link", name="Mugs").hover()
        await hands.page.wait_for_function("menu.dataset.again")
        await hands.page.get_by_role("link", name="Mugs").click()

    items = record(
        """<nav id=menu><a href="#mugs">Mugs</a></nav><script>
        const show = () => { menu.style.display = ""; menu.dataset.again = "yes" };
        menu.onmouseover = () => { menu.onmouseover = null; setTimeout(() => {
          menu.style.display = "none"; setTimeout(show, 500) }, 41) }</script>""",
        act,
    )
    assert contents(items) == [step("click", 'role=link[name="Mugs"]')]


def test_keys(record: Record) -> None:
    """A key that does something is a step; those that edit a text are its, those that press are clicks."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Note").click()
        for key in ("a", "b", "Enter", "ArrowLeft", "Backspace", "Control+A", "c"):
            await page.keyboard.press(key)
        await page.get_by_label("Find").click()
        await page.keyboard.type("mug")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Space")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Escape")
        await page.keyboard.press("Control+K")

    items = record(
        """<label>Note <textarea></textarea></label><form onsubmit="event.preventDefault()">
        <label>Find <input></label><button>Go</button></form><a href="#top">Top</a>""",
        act,
    )
    link = 'role=link[name="Top"]'
    assert contents(items) == [
        step("fill", 'role=textbox[name="Note"]', text="c"),
        step("fill", 'role=textbox[name="Find"]', text="mug"),
        {"tool": "press_key", "key": "Enter", "target": 'role=textbox[name="Find"]'},
        step("click", 'role=button[name="Go"]'),
        step("click", link),
        {"tool": "press_key", "key": "Escape", "target": link},
        {"tool": "press_key", "key": "Control+K", "target": link},
    ]


def test_clicks(record: Record) -> None:
    """Twice is a double click; a label stands for a box that is hidden; a hand may slip within a button."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_text("Open me").dblclick()
        await page.get_by_text("Seen", exact=True).click()
        await page.get_by_text("Unseen").click()
        await page.get_by_text("Blue").click()
        await page.get_by_text("Menu here").click(button="right")
        await page.locator("svg").click()
        await page.get_by_text("Seen", exact=True).click()
        await page.get_by_role("button", name="Bold").hover(position={"x": 20, "y": 20})
        await page.mouse.down()
        box = await page.get_by_role("button", name="Bold").bounding_box()
        assert box
        await page.mouse.move(box["x"] + 32, box["y"] + 24, steps=3)
        await page.mouse.up()

    items = record(
        """<div>Open me</div><label><input type=checkbox> Seen</label>
        <label><input type=checkbox hidden> Unseen</label>
        <label><input type=radio name=c> Red</label><label><input type=radio name=c> Blue</label>
        <p oncontextmenu="event.preventDefault()">Menu here</p>
        <button aria-label=Save><svg width=20 height=20><path d="M0 0h20v20z"/></svg></button>
        <button style="width: 200px; height: 60px" onmousedown="event.preventDefault()">Bold</button>""",
        act,
    )
    assert contents(items) == [
        step("click", 'text="Open me"', click_count=2),
        step("check", 'role=checkbox[name="Seen"]'),
        step("click", 'text="Unseen"'),
        step("check", 'role=radio[name="Blue"]'),
        step("click", 'text="Menu here"', button="right"),
        step("click", 'role=button[name="Save"]'),
        step("uncheck", 'role=checkbox[name="Seen"]'),
        step("click", 'role=button[name="Bold"]'),
    ]


def test_what_is_taken_back(record: Record) -> None:
    """`Undo` forgets the last step or check, a button in the list the one that it stands by."""

    async def act(hands: Hands) -> None:
        for name in ("One", "Two", "Three"):
            await hands.page.get_by_role("button", name=name).click()
        await hands.press("Check address")
        await hands.press("Undo")
        await hands.press("3 steps · 0 checks▴")
        assert await hands.read_list() == [f'Click button "{name}"' for name in ("One", "Two", "Three")]
        await hands.press(REMOVE)
        assert await hands.read_list() == ['Click button "Two"', 'Click button "Three"']
        for _ in range(2):
            await hands.press("Undo")
        assert await hands.said() == "Nothing is recorded."
        await hands.press("Undo")  # is off by now

    items = record("<button>One</button><button>Two</button><button>Three</button>", act)
    assert items == []


# -- targets


NASTY = """
<ul><li>Milk <button id=a>Delete</button><li>Bread <button id=b>Delete</button></ul>
<div class=card><h3>Red mug</h3><button id=c>Buy</button></div>
<div class=card><h3>Blue mug</h3><button id=d>Buy</button></div>
<p>Street<input id=e aria-label="Street"></p>
<label for=f>City</label><input id=f placeholder="Where?">
<button id=g><svg width=20 height=20><path d="M0 0h20v20z"/></svg></button>
<button id=h data-testid=close-it>\xd7</button><button id=i>\xd7</button>
<button id=j title="Print it"><i style="font-family: icons">\ue001</i></button>
<span id=k onclick="1">Plain text</span><span>Plain text too</span>
<a id=l href="/x">“Quoted” \\ and "so" &gt;&gt; on</a>
<button id=m>Very long {long}</button>
<button id=n>turned \u202e around</button>
<button id=o style="display: none">Only once</button><button id=p>Only once</button>
"""
EXPECTED = {
    "a": 'li:has-text("Milk") >> role=button[name="Delete"]',
    "b": 'li:has-text("Bread") >> role=button[name="Delete"]',
    "c": '.card:has-text("Red mug") >> role=button[name="Buy"]',
    "d": '.card:has-text("Blue mug") >> role=button[name="Buy"]',
    "e": 'role=textbox[name="Street"]',
    "f": 'role=textbox[name="City"]',
    "g": "#g",
    "h": '[data-testid="close-it"]',
    "i": "#i",
    "j": "#j",
    "k": 'text="Plain text"',
    "l": 'role=link[name="“Quoted” \\\\ and \\"so\\" >> on"]',
    "m": "#m",
    "n": "#n",
    "p": 'role=button[name="Only once"]',
}


def test_targets_are_as_people_write_them(record: Record) -> None:
    """Each is found once by Playwright, and is the element that was clicked."""
    found: dict[str, tuple[str, list[str]]] = {}

    async def act(hands: Hands) -> None:
        await hands.page.evaluate("addEventListener('click', (event) => event.preventDefault())")
        for name in EXPECTED:
            before = len(hands.contents)
            await hands.page.locator(f"#{name}").click()
            await hands.settle()
            (content,) = hands.contents[before:]
            found[name] = content["target"], await hands.ids_of(content["target"])

    record(NASTY.replace("{long}", "x " * 60), act)
    assert {name: target for name, (target, _) in found.items()} == EXPECTED
    assert {name: ids for name, (_, ids) in found.items()} == {name: [name] for name in EXPECTED}


def test_targets_in_shadow_trees_and_frames(record: Record, pages: PageServer) -> None:
    """An open shadow tree is looked into, a frame is entered, one of another origin or site as well."""
    inner = pages.page("/inner", "<!doctype html><button id=in onclick='1'>Inside</button><input id=field>")
    far = pages.page("/far", "<!doctype html><button id=in>Far away</button>").replace(
        "127.0.0.1", "localhost"
    )

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_role("button", name="Deep").click()
        await page.frame_locator("#near").get_by_role("button", name="Inside").click()
        await page.frame_locator("#near").locator("#field").click()
        await page.keyboard.type("x")
        await page.frame_locator("[name=ads]").get_by_role("button", name="Far away").wait_for()
        await hands.settle()
        await page.frame_locator("[name=ads]").get_by_role("button", name="Far away").click()
        await hands.settle()
        targets = [content["target"] for content in hands.contents]
        assert targets == [
            'role=button[name="Deep"]',
            '#near >>> role=button[name="Inside"]',
            "#near >>> #field",
            'iframe[name="ads"] >>> role=button[name="Far away"]',
        ]
        assert [await hands.ids_of(target) for target in targets] == [["deep"], ["in"], ["field"], ["in"]]
        await hands.press("Check value")
        await page.frame_locator("#near").locator("#field").click()
        await hands.press("Check value")
        await page.locator("#host input").click()
        await hands.settle()
        assert hands.contents[-2:] == [
            {
                "js": 'document.querySelector("#near")?.contentDocument?.querySelector("#field")?.value',
                "equals": "x",
            },
            {
                "js": 'document.querySelector("#host")?.shadowRoot?.querySelector("input")?.value',
                "equals": "7",
            },
        ]

    record(
        f"""<div id=host></div><iframe id=near title=Near src="{inner}"></iframe>
        <iframe name=ads src="{far}"></iframe><script>host.attachShadow({{mode: "open"}}).innerHTML =
        "<button id=deep>Deep</button><input value=7>"</script>""",
        act,
    )


# -- checks


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

    items = record(
        """<a href="#1" onclick="shown.textContent = 'Behind'">On</a><p id=shown>Before</p>""",
        act,
        finishes=True,
    )
    assert contents(items) == [{"text": "Behind"}]


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


def test_what_cannot_be_checked(record: Record) -> None:
    """A field without a value, a long text and a click beside fields are answered with what to do."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await hands.press("Check value")
        await page.get_by_text("Just a text").click()
        assert "That is not a field." in await hands.said()
        await hands.press("Check value")
        await hands.press("Check text")
        await page.locator("#long").click()
        assert "Point at a text of at most 200 characters" in await hands.said()

    assert record(f"<p>Just a text</p><p id=long>{'word ' * 80}</p>", act) == []


def test_a_check_of_what_was_so_from_the_start(record: Record, pages: PageServer) -> None:
    """The bar says at once that it proves nothing: a text, a value, the address of the start page."""
    hint = "That was so from the start: alone it proves nothing."
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

    items = record(
        """<p id=old>Here</p><select><option>Small<option>Large</select><input type=checkbox id=box>
        <button onclick="new_.textContent = 'Made'">Make</button><p id=new></p><a href="/two">On</a>
        <script>new_ = document.getElementById('new')</script>""",
        act,
    )
    assert len([one for one in contents(items) if "tool" not in one]) == 6


def test_the_state_before_the_click(record: Record) -> None:
    """A click that points at a box or a radio button switches it; the check has what was shown."""

    async def act(hands: Hands) -> None:
        for target in ("#on", "#off", "#blue", "label"):
            await hands.press("Check value")
            await hands.page.locator(target).click()
            assert (await hands.said()).startswith("Check added:"), target

    items = record(
        """<input type=checkbox id=on checked><input type=checkbox id=off>
        <input type=radio name=c id=red checked><input type=radio name=c id=blue>
        <input type=checkbox id=last checked><label for=last>Last</label>""",
        act,
    )
    assert [one["equals"] for one in contents(items)] == [True, False, False, True]


def test_pointing_is_between_the_bar_and_the_person(record: Record) -> None:
    """A refusal is seen while the mode is on; keys are held back and said; an empty area is no text."""

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
        await page.keyboard.press("Escape")

    items = record("<p>Just a text</p><input autofocus>", act)
    assert contents(items) == [step("fill", "role=textbox", text="y")]


# -- documents and tabs


def test_navigation(record: Record, pages: PageServer) -> None:
    """What a link opens is no step; an address, back and reload are. Before the start page is nothing."""
    pages.page("/two", "<!doctype html><title>Two</title><button>Here</button>")
    pages.page("/three", "<!doctype html><title>Three</title><p>Three")

    async def act(hands: Hands) -> None:
        page = hands.page
        assert await page.go_back() is None
        await page.get_by_role("link", name="Two").click()
        await page.get_by_role("button", name="Here").wait_for()
        await hands.settle()
        await page.goto(page.url.replace("two", "three"))
        await hands.settle()
        await page.go_back()
        await hands.ready()
        await page.reload()
        await hands.ready()
        await page.get_by_role("button", name="Here").click()

    items = record('<a href="/two">Two</a>', act)
    assert items is not None
    assert contents(items) == [
        step("click", 'role=link[name="Two"]'),
        {"tool": "navigate", "url": str(items[1].content["url"])},
        {"tool": "go_back"},
        {"tool": "reload"},
        step("click", 'role=button[name="Here"]'),
    ]
    assert str(items[1].content["url"]).endswith("/three")


def test_a_script_that_goes_back(record: Record, pages: PageServer) -> None:
    """What a page does by itself is no step: the click that made it do so is there already."""
    pages.page("/two", "<!doctype html><button onclick='history.back()'>Back</button>")

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_role("link", name="Two").click()
        await page.get_by_role("button", name="Back").click()
        await page.get_by_role("link", name="Two").wait_for()
        await hands.ready()
        await page.evaluate("location.href = '/two'")
        await page.get_by_role("button", name="Back").wait_for()

    assert [one["tool"] for one in contents(record('<a href="/two">Two</a>', act))] == ["click", "click"]


def test_tabs(record: Record, pages: PageServer) -> None:
    """A tab that a link opens is current at once; to go back to another one is a step."""
    pages.page("/help", "<!doctype html><title>Help</title><button>Got it</button>")

    async def act(hands: Hands) -> None:
        first = hands.page
        async with first.context.expect_page() as opened:
            await first.get_by_role("link", name="Help").click()
        hands.page = await opened.value
        await hands.ready()
        await hands.page.get_by_role("button", name="Got it").click()
        await hands.settle()
        hands.page = first
        await first.bring_to_front()
        await first.get_by_role("button", name="Done").click()

    assert contents(record('<a href="/help" target=_blank>Help</a><button>Done</button>', act)) == [
        step("click", 'role=link[name="Help"]'),
        step("click", 'role=button[name="Got it"]'),
        {"tool": "select_tab", "tab_id": 1},
        step("click", 'role=button[name="Done"]'),
    ]


def test_a_dialog(record: Record) -> None:
    """What a person answers is a step."""

    async def answer(hands: Hands) -> None:
        await hands.window.answer_dialog(accept=True)

    async def act(hands: Hands) -> None:
        hands.page.on("dialog", lambda _: answer(hands))
        await hands.page.get_by_role("button", name="Delete").click()
        await hands.page.get_by_text("true Ada").wait_for()

    script = "say(confirm('Sure?') + ' ' + prompt('Who?', 'Ada'))"
    assert contents(record(f"""{SAY}<button onclick="{script}">Delete</button>""", act)) == [
        step("click", 'role=button[name="Delete"]'),
        {"tool": "handle_dialog", "accept": True},
        {"tool": "handle_dialog", "accept": True, "text": "Ada"},
    ]


def test_what_is_drawn_and_what_is_dragged(record: Record) -> None:
    """A click into a drawing is one at a point; what is dragged has a source and a target."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.mouse.click(40, 60)
        await page.mouse.dblclick(50, 70)
        await page.mouse.move(10, 20)
        await page.mouse.down()
        await page.mouse.move(90, 80, steps=3)
        await page.mouse.up()
        await page.get_by_text("Card").drag_to(page.get_by_text("Done"))
        await page.get_by_text("dropped").wait_for()

    items = record(
        f"""<style>body {{ margin: 0 }} canvas {{ display: block }}</style>
        <canvas width=300 height=150></canvas><p draggable=true>Card</p>
        <div ondragover="event.preventDefault()" ondrop="say('dropped')">Done</div>{SAY}""",
        act,
    )
    assert contents(items) == [
        step("click", "body > canvas", position=[40, 60]),
        step("click", "body > canvas", position=[50, 70], click_count=2),
        {"tool": "drag_at", "start_x": 10, "start_y": 20, "end_x": 90, "end_y": 80},
        {"tool": "drag", "source": 'text="Card"', "target": 'text="Done"'},
    ]


def test_a_drag_by_a_captured_pointer(record: Record) -> None:
    """What a page moves with a pressed pointer is a drag to where it is dropped, or between two points."""

    async def act(hands: Hands) -> None:
        page = hands.page
        for x, y in ((305, 5), (150, 250)):
            await page.mouse.move(20, 15)
            await page.mouse.down()
            await page.mouse.move(100, 60, steps=4)
            await page.mouse.move(x, y, steps=4)
            await page.mouse.up()
            await hands.settle()

    items = record(
        """<style>body { margin: 0 } div { position: absolute; user-select: none }</style><div id=board
        style="width: 250px; height: 300px"><div id=card style="left: 5px; top: 5px">Card</div></div>
        <div id=bin style="left: 300px">Bin here</div><script>card.onpointerdown = (event) => {
          card.setPointerCapture(event.pointerId); card.onpointermove = (one) => {
            card.style.translate = `${one.clientX - event.clientX}px ${one.clientY - event.clientY}px` };
          card.onpointerup = () => { card.onpointermove = null; card.style.translate = '' } }</script>""",
        act,
    )
    assert contents(items) == [
        {"tool": "drag", "source": 'text="Card"', "target": 'text="Bin here"'},
        {"tool": "drag", "source": 'text="Card"', "target": "#board", "to_position": [150, 250]},
    ]


def test_what_a_pointer_brings_into_sight(record: Record) -> None:
    """To point at a menu is a step once something in it is used, by styles or by scripts, in each level."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_text("Kitchen").hover()
        await hands.wait_for_listeners()
        await page.get_by_text("Mugs").hover()
        await page.get_by_text("Blue").click()
        await page.mouse.move(400, 300)
        await hands.wait_for_listeners()
        await page.get_by_text("Row").hover()
        await page.get_by_role("button", name="Delete").click()
        await page.get_by_role("button", name="Plain").hover()
        await page.get_by_role("button", name="Plain").click()

    items = record(
        """<style>li ul { display: none } li:hover > ul { display: block }</style>
        <ul><li><a href="#1">Kitchen</a><ul><li><a href="#2">Mugs</a>
        <ul><li><a href="#3">Blue</a></ul></ul></ul>
        <p onmouseenter="del.hidden = false" onmouseleave="del.hidden = true">Row
        <button id=del hidden>Delete</button></p><button>Plain</button>""",
        act,
    )
    assert contents(items) == [
        step("hover", 'role=link[name="Kitchen"]'),
        step("hover", 'role=link[name="Mugs"]'),
        step("click", 'role=link[name="Blue"]'),
        step("hover", 'text="Row Delete"'),
        step("click", 'role=button[name="Delete"]'),
        step("click", 'role=button[name="Plain"]'),
    ]


def test_scrolling(record: Record) -> None:
    """Turns of the wheel one after another are a step, of the page or of a list; at its end they are none."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.mouse.move(400, 400)
        for y in (240, 240):
            await page.mouse.wheel(0, y)
            await hands.wait_for_listeners()
        await page.mouse.wheel(0, -5000)
        await hands.wait_for_listeners()
        await page.mouse.wheel(0, -240)
        await page.locator("#list").hover()
        await page.mouse.wheel(0, 120)
        await hands.wait_for_listeners()

    items = record(
        f"""<div id=list style="height: 60px; width: 90px; overflow: auto">{"<p>x</p>" * 20}</div>
        <div style="height: 3000px">Long</div>""",
        act,
    )
    assert contents(items) == [
        {"tool": "scroll", "direction": "down", "amount": 4},
        {"tool": "scroll", "direction": "up", "amount": 42},
        {"tool": "scroll", "direction": "down", "amount": 1, "target": "#list"},
    ]


def test_clicks_that_change_nothing(record: Record) -> None:
    """A click on a text is no step unless something comes of it: a change, or a request."""

    async def act(hands: Hands) -> None:
        page = hands.page
        for name in ("Changes", "Asks"):
            await page.get_by_text(name).click()
            for _ in range(2):
                await hands.wait_for_listeners()
        await page.get_by_text("Idle").dblclick()
        for _ in range(2):
            await hands.wait_for_listeners()
        assert await hands.said() == "A click that changed nothing is no step."

    items = record(
        """<p>Idle</p><p onclick="this.title = 'x'">Changes</p>
        <p onclick="setTimeout(() => navigator.sendBeacon('/'), 100)">Asks</p>""",
        act,
    )
    assert [one["target"] for one in contents(items)] == ['text="Changes"', 'text="Asks"']


def test_files(record: Record, tmp_path: Path) -> None:
    """A file that is chosen is known by its path, which the browser tells; what a script makes is none."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cv.txt").write_text(folder)
    kept: dict[str, Path] = {}

    async def act(hands: Hands) -> None:
        page = hands.page
        for folder in ("one", "two", "one"):
            async with page.expect_file_chooser() as opened:
                await page.get_by_label("CV").click()
            await (await opened.value).set_files(tmp_path / folder / "cv.txt")
            await hands.settle()
        kept.update(hands.recorder.list.used_files)

    items = record("<label>CV <input type=file></label><p id=said></p>", act)
    assert [one["files"] for one in contents(items)] == [["cv.txt"], ["cv-2.txt"], ["cv.txt"]]
    assert kept == {"cv.txt": tmp_path / "one/cv.txt", "cv-2.txt": tmp_path / "two/cv.txt"}


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


def test_a_row_that_does_not_hold(record: Record) -> None:
    """The bar says why and the window stays, so that the person can change it and try again."""
    tried: list[int] = []

    async def prove(items: list[Item]) -> list[str]:
        tried.append(len(items))
        return ["step 1 failed"] if len(items) > 1 else []

    async def act(hands: Hands) -> None:
        hands.recorder._prove = prove
        await hands.page.get_by_role("button").click()
        await hands.press("Check address")
        await hands.press(FINISH)
        said = await hands.said()
        assert said.startswith("The row does not hold.")
        assert said.endswith("\nstep 1 failed")
        await hands.press("1 step · 1 check▴")
        await hands.press(REMOVE)
        await hands.press(FINISH)

    assert len(record("<button>Buy</button>", act, finishes=True) or ()) == 1
    assert tried == [2, 1]


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
