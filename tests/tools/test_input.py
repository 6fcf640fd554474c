# ruff: noqa: E501 -- tables of messages
from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from pytest_browsereval.tools import runner
from tests.support import PageServer, Visits

LOG = """<script>
  window.seen = [];
  for (const name of ['click', 'dblclick', 'contextmenu', 'mouseover', 'keydown', 'input'])
    addEventListener(name, (e) => seen.push(name + ':' + (e.key ?? e.target.id)), true);
</script>"""

RESTLESS = """<b id=x style='position:fixed'>x</b><script>
  let at = 0;
  (function go() { x.style.left = `${(at += 7) % 900}px`; requestAnimationFrame(go) })();
</script>"""
"""Is elsewhere in every frame, also in the first ones: an animation of styles may begin later."""


def test_click_clicks_with_button_and_count(visit: Visits) -> None:
    """Left, right and double clicks reach the element."""
    opened = visit(f"<button id=b>Buy</button>{LOG}")
    assert opened.output("click", target='role=button[name="Buy"]') == 'Clicked role=button[name="Buy"].'
    assert opened.output("click", target="#b", button="right") == "Clicked #b with the right button."
    assert opened.output("click", target="text=Buy", click_count=2) == "Double-clicked text=Buy."
    seen = opened.js("seen.filter((what) => !what.startsWith('mouseover'))")
    assert seen == ["click:b", "contextmenu:b", "click:b", "click:b", "dblclick:b"]


def test_a_click_that_navigates_tells_the_new_page(visit: Visits, pages: PageServer) -> None:
    """The call returns when the next page is there, however slow its server is."""
    url = pages.page("/next", "<title>Next</title><script>document.title += '!'</script>", delay_s=0.3)
    opened = visit("<a href='/next'>go</a>")
    assert opened.output("click", target="text=go") == f"Clicked text=go. The page is now {url}."
    assert opened.js("document.title") == "Next!"


def test_the_picture_after_a_click_shows_the_new_page(visit: Visits, pages: PageServer) -> None:
    """No picture of a page that is about to go."""
    pages.page("/green", "<body style='background:rgb(0,128,0)'><img src='/tick.svg'>")
    tick = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='50' height='50'><rect width='50' height='50'/></svg>"
    )
    pages.page("/tick.svg", tick, media_type="image/svg+xml", delay_s=0.2)
    opened = visit("<a href='/green'>go</a>", screenshots="after", picture="png")
    opened.output("click", target="text=go")
    image = Image.open(opened.capture.screenshot.path(1)).convert("RGB")
    assert (image.getpixel((30, 30)), image.getpixel((600, 600))) == ((0, 0, 0), (0, 128, 0))


@pytest.mark.parametrize(
    ("body", "target", "said"),
    [
        ("", "#x", "Nothing matches #x. Call snapshot to see the page."),
        ("", "e99", "e99 belongs to no snapshot of this page. Call snapshot to get refs."),
        ("<button id=x hidden>x", "#x", "#x is not visible."),
        ("<button id=x disabled>x", "#x", "#x is disabled."),
        (
            "<button id=x>x</button><div id=veil style='position:fixed;inset:0'></div>",
            "#x",
            '#x is covered by <div id="veil"></div>, which would take the click.',
        ),
        (RESTLESS, "#x", "#x keeps moving."),
        ("", "!!", 'Unexpected token "!" while parsing css selector "!!".'),
        ("", "role=foo[", "Unexpected end of selector while parsing selector `foo[`"),
        ("", "#a >>> ", "The target '#a >>> ' has an empty part. Write FRAME >>> TARGET, or a target alone."),
        ("<iframe></iframe><iframe></iframe>", "iframe >>> b", "iframe >>> b matches 2 elements"),
        ("<p id=a>", "#a >>> #b", 'Selector "#a" resolved to <p id="a"></p>, <iframe> was expected'),
    ],
)
def test_a_click_that_fails_says_why(visit: Visits, body: str, target: str, said: str) -> None:
    """Each reason is one short sentence that tells what to do or what is in the way."""
    result = visit(body).refusal("click", target=target)
    assert result.startswith(said)
    assert len(result) < 200
    assert "Call log" not in result


def test_an_ambiguous_target_lists_the_first_matches(visit: Visits) -> None:
    """How many there are, the first three, and what to do instead."""
    opened = visit("".join(f"<button>Add {n}</button>" for n in range(5)))
    assert opened.refusal("click", target="button") == (
        "button matches 5 elements: <button>Add 0</button>; <button>Add 1</button>; <button>Add 2</button>; "
        "2 more. Use a ref of a snapshot or a longer selector."
    )
    given = {"type_text": {"text": "a"}, "press_key": {"key": "a"}, "select_option": {"value": "a"}}
    for tool in ("check", "read_text", *given):
        said = opened.refusal(tool, target="button", **given.get(tool, {}))
        assert said.startswith("button matches 5 elements: <button>Add 0</button>; "), tool


def test_a_ref_of_an_element_that_has_gone_is_refused_at_once(visit: Visits, pages: PageServer) -> None:
    """A ref never means another element: not after a removal, not on another page."""
    pages.page("/other", "<button>Other</button>")
    opened = visit("<button id=x>x</button>")
    opened.output("snapshot")
    opened.js("document.querySelector('#x').remove()")
    for ref in ("e2", "e99", "f9e1"):
        said = opened.refusal("click", target=ref)
        assert said == f"{ref} is not on the page. Call snapshot to get new refs."
    opened.output("navigate", url="/other")
    assert opened.refusal("click", target="ref=e2").startswith("ref=e2 is not on the page.")
    assert opened.js("document.querySelector('button').textContent") == "Other"


def test_hover_moves_the_pointer_over_the_element(visit: Visits) -> None:
    """The element sees the pointer."""
    opened = visit(f"<button id=b>b</button>{LOG}")
    assert opened.output("hover", target="#b") == "The pointer is over #b."
    assert "mouseover:b" in opened.js("seen")


def test_fill_replaces_and_type_text_adds_key_by_key(visit: Visits) -> None:
    """A label names its field; typing sends a key event for each character."""
    opened = visit(f"<label>Email <input id=i value=old></label><label>Email address<input></label>{LOG}")
    assert opened.output("fill", target="label=Email", text="ann@x") == "Filled label=Email with 'ann@x'."
    assert opened.js("i.value") == "ann@x"
    assert opened.output("type_text", target='label="Email"', text="yz") == "Typed 'yz' into label=\"Email\"."
    assert opened.js("i.value") == "ann@xyz"
    assert opened.js("seen.filter((what) => what.startsWith('keydown'))") == ["keydown:y", "keydown:z"]


@pytest.mark.slow
def test_a_text_longer_than_the_actions_limit_is_typed_in_full(
    visit: Visits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typing may take as long as its keys do, beyond the second that an action has here."""
    # All keys together take more than a second on the fastest machine, and may take a minute on a busy one.
    busy = "t.oninput = () => { const end = performance.now() + 5; while (performance.now() < end); }"
    monkeypatch.setattr(runner, "KEY_S", 0.25)
    opened = visit(f"<textarea id=t></textarea><script>{busy}</script>")
    opened.limit(action_s=1.0)
    text = "lorem ipsum " * 20
    opened.output("type_text", target="#t", text=text)
    assert opened.js("t.value") == text


def test_press_key_knows_the_usual_names(visit: Visits, subtests: pytest.Subtests) -> None:
    """Names that models use are turned into the browser's."""
    cases: list[tuple[str, str, list[str]]] = [
        ("Enter", "Enter", ["Enter"]),
        ("esc", "Escape", ["Escape"]),
        ("+", "+", ["+"]),
        (" ", "Space", [" "]),
        ("ctrl+A", "Control+A", ["Control", "A"]),
        ("Control++", "Control++", ["Control", "+"]),
        ("Shift+down", "Shift+ArrowDown", ["Shift", "ArrowDown"]),
        ("ctrl+shift+k", "Control+Shift+K", ["Control", "Shift", "K"]),
    ]
    for key, told, seen in cases:
        with subtests.test(key=key, told=told, seen=seen):
            opened = visit(f"<input id=i autofocus>{LOG}")
            assert opened.output("press_key", key=key) == f"Pressed {told}."
            assert opened.js("seen.filter((what) => what.startsWith('keydown'))") == [
                f"keydown:{name}" for name in seen
            ]


def test_press_key_in_an_element_and_with_an_unknown_name(visit: Visits, pages: PageServer) -> None:
    """Enter in a field sends its form; a key that does not exist is told by name."""
    url = pages.page("/found", "found")
    opened = visit("<form action='/found'><input name=q value=1></form>")
    assert opened.output("press_key", key="Enter", target="input") == (
        f"Pressed Enter in input. The page is now {url}?q=1."
    )
    assert opened.refusal("press_key", key="Foo") == "There is no key 'Foo'."


@pytest.mark.slow
def test_drag_moves_one_element_onto_another(visit: Visits) -> None:
    """The drop lands on the target; a missing target is refused."""
    opened = visit(
        "<p id=a draggable=true>a</p><p id=b style='height:50px' ondragover='event.preventDefault()' "
        "ondrop=\"document.title = 'dropped'\">b</p>"
    )
    assert opened.output("drag", source="#a", target="#b") == "Dragged #a to #b; both are where they were."
    assert opened.js("document.title") == "dropped"
    assert opened.refusal("drag", source="#b", target="#a") == (
        "It was dragged, but nothing on the page has moved."
    )
    opened.js("b.ondragover = null")
    assert opened.refusal("drag", source="#a", target="#b") == (
        "It was dragged, but nothing on the page takes it there."
    )
    opened.js("getSelection().empty(); void (onpointermove = (event) => { a.title = event.clientX; })")
    assert opened.output("drag", source="#b", target="#a") == "Dragged #b to #a; both are where they were."
    drop = "ondragover='event.preventDefault()' ondrop='this.append(1)'"
    frame = "<body style='margin:0;height:99px' {}><div id=c style='height:60px'>c</div>"
    for taking, dropped in ((drop, True), ("ondragenter='this.title = 1'", False)):
        inner = frame.format(taking).replace('"', "&quot;")
        opened.run(
            opened.window.page.set_content(
                f'<p id=a draggable=true>a</p><iframe id=f srcdoc="{inner}"></iframe>'
            )
        )
        assert opened.call("drag", source="#a", target="#f >>> #c").ok is dropped
    assert opened.refusal("drag", source="#a", target="#c").startswith("Nothing matches #c.")
    assert opened.refusal("drag", source="#z", target="#b").startswith("Nothing matches #z.")


def test_scroll_turns_the_wheel_and_tells_the_place(visit: Visits) -> None:
    """120 pixels a notch; the ends are told; an element of its own scrolls instead of the page."""
    opened = visit(
        "<body style='margin:0'><div id=box style='height:100px;width:100px;overflow:auto'>"
        "<p style='height:900px'></div><div style='height:3000px;width:2000px'></div>"
    )
    assert opened.output("scroll", direction="down", amount=2).startswith(
        "Scrolled down by 240 pixels. The page is at 240 of "
    )
    assert opened.js("scrollY") == 240
    assert "at 0 of" in opened.output("scroll", direction="up", amount=9)
    assert "at 120 of" in opened.output("scroll", direction="right", amount=1)
    opened.output("scroll", direction="left", amount=1)
    opened.output("scroll", direction="down", amount=1, target="#box")
    assert opened.js("[scrollY, box.scrollTop]") == [0, 120]
    assert opened.refusal("scroll", direction="down", target="#none").startswith("Nothing matches #none.")


DIALOGS = {
    "alert": ("alert('Hi')", "alert 'Hi'", None, None),
    "confirm": ("document.title = confirm('Sure?')", "confirm 'Sure?'", "true", "false"),
    "prompt": ("document.title = prompt('Name?', 'A')", "prompt 'Name?', with 'A' filled in", "A", "null"),
}


def test_a_dialog_waits_for_its_answer(visit: Visits, subtests: pytest.Subtests) -> None:
    """The click returns with the dialog, other tools refuse until it is answered, then the page goes on."""
    for kind, (script, told, *titles) in DIALOGS.items():
        for did, accept, title in zip(("Accepted", "Dismissed"), (True, False), titles, strict=True):
            with subtests.test(kind=kind, accept=accept):
                opened = visit(f'<button onclick="{script}">go</button>')
                shown = f"The page shows a dialog: {told}. Call handle_dialog to answer it."
                assert opened.output("click", target="button") == shown
                assert opened.refusal("snapshot") == f"{shown} Until then snapshot cannot run."
                assert opened.output("handle_dialog", accept=accept) == f"{did} the {told.partition(',')[0]}."
                assert opened.js("document.title") == (title or "Page")
                assert opened.refusal("handle_dialog", accept=True) == "No dialog is open."
    opened.output("click", target="button")
    opened.output("handle_dialog", accept=True, text="Bob")
    assert opened.js("document.title") == "Bob"


@pytest.mark.parametrize("accept", [True, False])
def test_leaving_a_page_that_asks_is_answered_too(visit: Visits, pages: PageServer, accept: bool) -> None:  # noqa: FBT001
    """The navigation waits for the answer, and goes on or is given up."""
    url = pages.page("/away", "<title>Away</title>")
    opened = visit("<button onclick='onbeforeunload = (e) => { e.preventDefault(); return 1 }'>hold</button>")
    before = opened.window.url
    opened.output("click", target="button")
    assert "dialog: beforeunload ''" in opened.output("navigate", url="/away")
    opened.output("handle_dialog", accept=accept)
    assert opened.window.url == (url if accept else before)
    assert opened.output("snapshot").startswith(f"URL: {url if accept else before}\n")


def test_alerts_without_end_are_told_one_by_one(visit: Visits) -> None:
    """A page that opens alerts in a loop hangs nothing: each answer meets the next one."""
    opened = visit("<button onclick='for (let i = 0; ; i++) alert(i)'>go</button>")
    opened.output("click", target="button")
    for number in (1, 2, 3):
        assert f"alert '{number}'" in opened.output("handle_dialog", accept=True)
    assert "alert '3'" in opened.refusal("navigate", url="/")


def test_a_dialog_that_opens_by_itself_is_met_by_the_next_call(visit: Visits) -> None:
    """A timer's alert, during or before a call, is told and not waited for."""
    opened = visit("<script>setTimeout(() => alert('soon'), 50)</script>")
    said = opened.call("wait", seconds=20).output
    assert "alert 'soon'" in said


def test_scroll_says_what_moved(visit: Visits) -> None:
    """A list, a box of a shadow tree, a frame, the page; or that nothing did."""
    box = "<div id=box style=height:100px;overflow:auto><p style=height:900px>u</p></div>"
    opened = visit(
        "<ul id=list style='height:200px;overflow:auto'>" + "<li>x</li>" * 100 + "</ul><x-a></x-a>"
        "<iframe id=frame srcdoc='<p style=height:900px>in'></iframe><div style=height:3000px></div>"
        f"<script>customElements.define('x-a', class extends HTMLElement {{ connectedCallback() {{"
        f"this.attachShadow({{mode: 'open'}}).innerHTML = '{box}' }} }})</script>"
    )
    for target, name in (("#list", "list"), ("#box", "pane"), ("#frame", "frame")):
        said = opened.output("scroll", direction="down", amount=1, target=target)
        assert said.startswith(f"Scrolled down by 120 pixels. The {name} is at 120 of "), said
    said = opened.output("scroll", direction="down", amount=100, target="#list")
    now, end = said.partition("The list is at ")[2].rstrip(".").split(" of ")
    assert now == end
    said = opened.output("scroll", direction="right", target="#list")
    assert said == "Scrolled right by 360 pixels. Nothing moved: the page is at 0 of 0."


def test_a_click_holds_keys_the_button_and_a_place(visit: Visits) -> None:
    """As Playwright's click takes them; keys by the names that models use, and up again afterwards."""
    opened = visit(
        "<canvas id=c></canvas><script>for (const name of ['mousedown', 'mouseup']) c.addEventListener(name, (e) => "
        "(window[name] = [Math.round(e.offsetX), Math.round(e.offsetY), e.ctrlKey, e.shiftKey, e.timeStamp]))</script>"
    )
    said = opened.output("click", target="#c", modifiers=["ctrl", "Shift"], position=[7, 9], hold_ms=300)
    assert said == "Clicked #c at (7, 9) with Control and Shift down, held for 300 ms."
    assert opened.js("mousedown.slice(0, 4)") == [7, 9, True, True]
    assert opened.js("mouseup[4] - mousedown[4]") >= 250
    said = opened.output("click_at", x=20, y=30, modifiers=["Shift"], then=[[21, 31], [22, 32]])
    assert said == "Clicked at (20, 30), (21, 31), (22, 32) with Shift down."
    assert opened.js("[...mousedown.slice(0, 4), mousedown[0] - 14]") == [14, 24, False, True, 0]
    opened.output("click", target="#c")
    assert opened.js("mousedown.slice(2, 4)") == [False, False]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("click", {"modifiers": ["Shft"]}, "modifiers.0: Input should be 'Alt', 'Control', 'ControlOrMeta', 'Meta' or 'Shift'. Did you mean 'Shift'?"),
    ("click", {"modifiers": "Shift"}, "modifiers: Input should be a valid list"),
    ("click", {"modifers": ["Shift"]}, "modifers: Extra inputs are not permitted. Did you mean 'modifiers'?"),
    ("click", {"hold_ms": 10_001}, "hold_ms: Input should be less than or equal to 10000"),
    ("click", {"position": [1]}, "position: List should have at least 2 items"),
    ("click", {"position": [1, 200]}, "(1, 200) is outside of #c, which is 300 x 150 CSS pixels."),
    ("drag", {"source": "#c", "to_position": [-1, 2]}, "(-1, 2) is outside of #c, which is 300 x 150 CSS pixels."),
    ("press_key", {}, "Give either key or keys."),
    ("press_key", {"key": "a", "keys": ["b"]}, "Give either key or keys."),
    ("press_key", {"keys": []}, "keys: List should have at least 1 item"),
    ("select_option", {}, "Give either value or values."),
    ("select_option", {"value": "a", "values": ["b"]}, "Give either value or values."),
    ("read_text", {"media": "screen"}, "media: Input should be 'print'"),
    ("wait_for_text", {"text": "x", "timeout_s": 121}, "timeout_s: Input should be less than or equal to 120"),
    ("wait_for_text", {"text": "x", "gone": "perhaps"}, "gone: Input should be a valid boolean"),
]  # fmt: skip


def test_a_wrong_argument_is_told_with_what_is_right(visit: Visits) -> None:
    """The type, the range, the nearest name, and which of two to give; nothing is done."""
    opened = visit("<canvas id=c tabindex=0></canvas>")
    for tool, given, said in WRONG:
        assert said in opened.refusal(tool, **{"target": "#c", **given}), (tool, given)
    assert opened.refusal("wait_for_text") == "Give a text, a target, or both."


def test_keys_are_pressed_in_their_order_and_held(visit: Visits, subtests: pytest.Subtests) -> None:
    """Several in one call, also in a field; a held key repeats as a keyboard's does."""
    opened = visit(
        "<input id=i><script>seen = []; for (const name of ['keydown', 'keyup']) addEventListener(name, (e) => "
        "seen.push([name, e.key, e.repeat, e.timeStamp]))</script>"
    )
    assert opened.output("press_key", keys=["a", "space", "Shift+b"], target="#i") == (
        "Pressed a, Space, Shift+B in #i."
    )
    assert opened.js("i.value") == "a B"
    opened.js("seen = []")
    assert opened.output("press_key", key="ctrl+ArrowUp", hold_ms=800) == (
        "Pressed Control+ArrowUp, held for 800 ms."
    )
    names = opened.js("seen.map(([name, key, isRepeat]) => [name, key, isRepeat])")
    assert names[:2] == [["keydown", "Control", False], ["keydown", "ArrowUp", False]]
    assert names[2] == ["keydown", "ArrowUp", True]
    assert names[-2:] == [["keyup", "ArrowUp", False], ["keyup", "Control", False]]
    assert opened.js("seen.at(-2)[3] - seen[1][3]") >= 750
    said = opened.refusal("press_key", keys=["a", "Entr"])
    assert said == "There is no key 'Entr'. Did you mean 'Enter'? Pressed before it: a."
