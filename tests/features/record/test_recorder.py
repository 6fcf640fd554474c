"""What is recorded of clicks, keys, tabs and documents in a real window."""

from __future__ import annotations

from tests.features.record.conftest import Record
from tests.features.record.hands import FINISH, REMOVE, Hands
from tests.features.record.items import SAY, contents, step
from tests.support import PageServer


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

    html = """<form onsubmit="event.preventDefault(); said.textContent = 'Thank you'">
        <label>Name <input id=name></label> <label for=m>Mail</label> <input id=m type=email>
        <label><input type=checkbox> News</label>
        <label>Size <select><option>Small<option>Large</select></label>
        <select multiple aria-label=Colour><option>Red<option>Green<option>Blue</select>
        <button>Send</button></form><p id=said></p>"""
    items = record(html, act, finishes=True)
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

    html = """<label>Note <textarea></textarea></label><form onsubmit="event.preventDefault()">
        <label>Find <input></label><button>Go</button></form><a href="#top">Top</a>"""
    link = 'role=link[name="Top"]'
    assert contents(record(html, act)) == [
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

    html = """<div>Open me</div><label><input type=checkbox> Seen</label>
        <label><input type=checkbox hidden> Unseen</label>
        <label><input type=radio name=c> Red</label><label><input type=radio name=c> Blue</label>
        <p oncontextmenu="event.preventDefault()">Menu here</p>
        <button aria-label=Save><svg width=20 height=20><path d="M0 0h20v20z"/></svg></button>
        <button style="width: 200px; height: 60px" onmousedown="event.preventDefault()">Bold</button>"""
    assert contents(record(html, act)) == [
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

    assert record("<button>One</button><button>Two</button><button>Three</button>", act) == []


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
    pages.page("/far", "<!doctype html><button id=in>Far away</button>")
    far = pages.url.replace("127.0.0.1", "localhost") + "/far"

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
        near = 'document.querySelector("#near")?.contentDocument?.querySelector("#field")?.value'
        host = 'document.querySelector("#host")?.shadowRoot?.querySelector("input")?.value'
        assert hands.contents[-2:] == [{"js": near, "equals": "x"}, {"js": host, "equals": "7"}]

    record(
        f"""<div id=host></div><iframe id=near title=Near src="{inner}"></iframe>
        <iframe name=ads src="{far}"></iframe><script>host.attachShadow({{mode: "open"}}).innerHTML =
        "<button id=deep>Deep</button><input value=7>"</script>""",
        act,
    )


# -- checks


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
