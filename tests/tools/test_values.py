# ruff: noqa: E501 -- tables of pages
"""What is in a field after a call is what the call says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.tools.base import ToolResult
from tests.support import PageServer, Visit, Visits

REFUSED = "<input id=x value=old oninput='{}'>"
LATER = REFUSED.format('requestAnimationFrame(() => this.value = "old")')
FORMATS = (
    "<input id=x oninput=\"this.value = this.value.replace(/,/g, '').replace(/\\B(?=(\\d{3})+$)/g, ',')\">"
)
IN_SHADOW = """<my-x></my-x><script>customElements.get('my-x') || customElements.define('my-x', class extends HTMLElement {
  constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = '<input id=x value=old maxlength=4>'; }
})</script>"""
CODE = "<input id=x oninput='b.focus()' maxlength=1><input id=b maxlength=1>"
EDITOR = """<div style='overflow:hidden;width:3px;height:0;position:relative'><textarea id=x
  style='width:1000px;position:absolute' oninput='document.title += value; value = ""'></textarea></div>"""

DIGITS = "<input id=x oninput='this.value = this.value.replace(/\\D/g, \"\")'>"
STARS = "<input id=x oninput='this.value = this.value.replace(/./g, \"*\")'>"
COMMA = '<input id=x oninput=\'this.value = this.value.replace(".", ",")\'>'

FILLED = [
    # What a field does not take: its form, its bounds, its length.
    ("<input id=x type=date>", "4 March 2026", "!#x holds nothing now, not '4 March 2026': it takes a date such as "),
    ("<input id=x type=time>", "5pm", "!#x holds nothing now, not '5pm': it takes a time such as 17:30."),
    ("<input id=x type=datetime-local>", "now", "!#x holds nothing now, not 'now': it takes a date and a time su"),
    ("<input id=x type=color>", "reddish", "!#x holds '#000000' now, not 'reddish': it takes a color such as "),
    ("<input id=x type=range max=10>", "70", "!#x holds '10' now, not '70': it takes a number to 10."),
    ("<input id=x type=number>", "1,5", "!#x takes a number such as 1.5."),
    ("<input id=x maxlength=3>", "abcd", "!#x holds 'abc' now, not 'abcd': it takes at most 3 characters."),
    ("<input id=x type=file>", "a.txt", "!#x takes a file. Call upload_file."),
    ("<input id=x type=checkbox>", "yes", "!#x takes no text. Call check or uncheck."),
    ("<input id=x readonly>", "new", "!#x is read-only."),
    ("<p id=x>x</p>", "new", "!#x takes no text. Call click, or press_key for a slider."),
    # What a page does not take, at once or in the next frame.
    (REFUSED.format('this.value = "old"'), "new", "!#x holds 'old' now, not 'new': the page did not take it."),
    (LATER, "new", "!#x holds 'old' now, not 'new': the page did not take it."),
    (LATER, "", "!#x holds 'old' now, not '': the page did not take it."),
    (DIGITS, "a1", "!#x holds '1' now, not 'a1': "),
    (DIGITS, "12.50", "!#x holds '1250' now, not '12.50': the page did not take it."),
    (DIGITS, "-5", "!#x holds '5' now, not '-5': "),
    (STARS, "S3cret", "Filled #x with 'S3cret'; the page made it '******'."),
    (COMMA, "-12.50", "Filled #x with '-12.50'; the page made it '-12,50'."),
    # What a page writes in its own way.
    (FORMATS, "1234", "Filled #x with '1234'; the page made it '1,234'."),
    ("<input id=x oninput='this.value = this.value.toUpperCase()'>", "ab", "Filled #x with 'ab'; the page made it 'AB'."),
    ('<input id=x oninput=\'if (value === "Ber") value = "Berlin"\'>', "Ber", "Filled #x with 'Ber'; the page made it 'Be"),
    ("<input id=x type=color>", "red", "Filled #x with 'red'; the page made it '#ff0000'."),
    ("<input id=x type=datetime-local>", "2026-03-04 17:30", "Filled #x with '2026-03-04 17:30'; the page made it '20"),
    # What is as it was asked for.
    ("<input id=x type=date>", "2026-03-04", "Filled #x with '2026-03-04'."),
    ("<input id=x type=number>", "1.50", "Filled #x with '1.50'."),
    ("<div id=x contenteditable><p>old</p></div>", "one\ntwo", "Filled #x with 'one two'."),
    ("<label id=x>Name <input></label>", "Ann", "Filled #x with 'Ann'."),
    (IN_SHADOW, "Ann", "Filled #x with 'Ann'."),
    (IN_SHADOW, "Anna B", "!#x holds 'Anna' now, not 'Anna B': it takes at most 4 characters."),
    # Where nobody can tell: it has gone.
    ("<p id=p><input id=x oninput='p.innerHTML = \"\"'></p>", "Ann", "Filled #x with 'Ann'."),
    # A password is not said again.
    ("<input id=x type=password>", "S3cret", "Filled #x with 6 characters."),
    ("<input id=x type=password maxlength=4>", "S3cret", "!#x holds 4 characters now, not 6 characters: it takes at "),
    ("<input id=x type=text autocomplete=current-password>", "S3cret", "Filled #x with 6 characters."),
]  # fmt: skip
"""What a fill says; an exclamation mark stands before an error."""

TYPED = [
    ("<input id=x value=old>", "er", "Typed 'er' into #x.", "older"),
    ("<textarea id=x>old</textarea>", "er", "Typed 'er' into #x.", "older"),
    ("<div id=x contenteditable>old</div>", "er", "Typed 'er' into #x.", "older"),
    ("<input id=x type=email value=a@b>", ".c", "Typed '.c' into #x.", "a@b.c"),
    ("<input id=x readonly value=old>", "a", "!#x is read-only.", "old"),
    ("<input id=x disabled>", "a", "!#x is disabled.", ""),
    ("<fieldset disabled><input id=x></fieldset>", "a", "!#x is disabled.", ""),
    ("<input id=x type=file>", "a", "!#x takes a file. Call upload_file.", ""),
    ("<button id=x>b</button>", "a", "!#x takes no text. Call click or press_key.", ""),
    ("<p id=x>a <input></p>", "a", "!#x does not take the focus, so no key reaches it. Name the field itself.", None),
    ("<p id=x tabindex=0>a</p>", "a", "Typed 'a' into #x.", None),
    ("<input id=x type=number>", "1,5", "!Typed '1,5' into #x, but it holds '15' now: it takes a number such as 1.5.", "15"),
    ("<input id=x type=date>", "4 March", "!Typed '4 March' into #x, but it holds nothing now: it takes a date such", ""),
    ("<input id=x type=date>", "03042026", "Typed '03042026' into #x; it holds '2026-03-04' now.", "2026-03-04"),
    ("<input id=x type=date>", "2026-03-04", "!Typed '2026-03-04' into #x, but it holds '60304-02-02' now: it take", "60304-02-02"),
    (LATER, "a", "!Typed 'a' into #x, but it holds 'old' now: the page did not take it.", "old"),
    (FORMATS, "1234", "Typed '1234' into #x; it holds '1,234' now.", "1,234"),
    (CODE, "12", "Typed '12' into #x; it holds '1' now.", "1"),
    (EDITOR, "ab", "Typed 'ab' into #x; it holds nothing now.", ""),
    ("<input id=x onkeydown='if (event.key === \"Enter\") value = \"\"'>", "hi\n", "Typed 'hi' into #x; it holds nothi", ""),
    ("<select id=x><option>Apple<option>Pear</select>", "P", "Typed 'P' into #x; it holds 'Pear' now.", "Pear"),
    ("<input id=x type=password value=S3cret oninput='value = \"S3cret\"'>", "Other",
     "!Typed 5 characters into #x, but it holds 6 characters now: the page did not take it.", "S3cret"),
]  # fmt: skip
"""What typing into a target says, and what is there then."""


KEYS: list[tuple[str, dict[str, Any], str]] = [
    ("<input id=x value=old>", {"text": "er"}, "Typed 'er'."),
    ("<input id=x value=old>", {"text": "new", "clear": True}, "Typed 'new'."),
    ("<input id=x value=old>", {"text": "!"}, "Typed '!'."),
    ("<input id=x value=old>", {"text": " "}, "Typed ''."),
    (FORMATS, {"text": "1234"}, "Typed '1234'; it holds '1,234' now."),
    ("<input id=x readonly value=old>", {"text": "a1"}, "!Typed 'a1', but it holds 'old' now: it is read-only."),
    ("<input id=x maxlength=2>", {"text": "abc"}, "!Typed 'abc', but it holds 'ab' now: it takes at most 2 character"),
    (CODE, {"text": "12"}, "Typed '12'; it holds '1' now."),
    (IN_SHADOW, {"text": "Ann"}, "!Typed 'Ann', but it holds 'Aold' now: it takes at most 4 characters."),
    ("<input id=x type=password readonly value=S3cret>", {"text": "a"}, "!Typed 1 characters, but it holds 6 charac"),
]  # fmt: skip
"""What typing without a target says; ``#x`` has the focus."""


STOPPED = "<script>requestAnimationFrame = setTimeout = () => 0; performance.now = () => 0</script>"
LYING = """<script>const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  Object.defineProperty(HTMLInputElement.prototype, 'value', {get: () => 'new', set: own});
  Object.defineProperty(HTMLInputElement.prototype, 'checked', {get: () => true});
  Object.defineProperty(HTMLSelectElement.prototype, 'selectedOptions', {get() { return [this.options[1]]; }});</script>"""
BROKEN = (
    "<script>Map = Set = Promise = NodeList = undefined; Element.prototype.matches = () => false</script>"
)
BOX = "<input id=x type=checkbox {}>"
LIST = "<select id=x {}><option value=a>A<option value=b>B</select>"
FORWARDS = """<my-f id=x></my-f><script>customElements.define('my-f', class extends HTMLElement {
  constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = '<input>'; }
  focus() { this.shadowRoot.firstChild.focus(); } })</script>"""
OWN_WORLD: list[tuple[str, str, dict[str, Any], str]] = [
    # Pages that stop the clocks, or say another value than the one that is there.
    (STOPPED + REFUSED.format('this.value = "old"'), "fill", {"text": "new"}, "!#x holds 'old' now, not 'new': "),
    (STOPPED + BOX.format("onclick='return false'"), "check", {}, "!#x is not checked: "),
    (STOPPED + LIST.format("onchange='value = \"a\"'"), "select_option", {"value": "B"}, "!#x has 'A' chosen now"),
    (LYING + "<input id=x maxlength=2>", "fill", {"text": "new"}, "!#x holds 'ne' now, not 'new': "),
    (LYING + "<input id=x maxlength=2>", "type_text", {"text": "new"}, "!Typed 'new' into #x, but it holds 'ne' now"),
    (LYING + "<input id=x autofocus maxlength=2>", "type_keys", {"text": "new"}, "!Typed 'new', but it holds 'ne' now"),
    (LYING + BOX.format("onclick='return false'"), "check", {}, "!#x is not checked: "),
    (LYING + LIST.format("onchange='value = \"a\"'"), "select_option", {"value": "B"}, "!#x has 'A' chosen now"),
    # Pages whose scripts are in the way of ours.
    ("<input id=x><script>Object.defineProperty(x, 'value', {get: () => 'old'})</script>", "fill", {"text": "new"},
     "Filled #x with 'new'."),
    (BROKEN + "<input id=x>", "type_text", {"text": "new"}, "Typed 'new' into #x."),
    (BROKEN + BOX.format(""), "check", {}, "#x is checked."),
    (BROKEN + LIST.format(""), "select_option", {"value": "B"}, "Chose 'B' in #x."),
    (FORWARDS, "type_text", {"text": "new"}, "Typed 'new' into #x."),
    ("<form><input name=labels><label>L <input></label></form>", "fill", {"target": "label=L", "text": "new"},
     "Filled label=L with 'new'."),
]  # fmt: skip
"""A page with scripts of its own, a tool, its arguments, and what it says."""


@pytest.mark.slow
def test_the_scripts_of_a_page_do_not_change_what_is_read_back(visit: Visits, pages: PageServer) -> None:
    """Neither what a page makes of its fields, nor its clocks, nor what it takes away."""
    opened = visit("")
    for number, (body, tool, given, said) in enumerate(OWN_WORLD):
        opened.output("navigate", url=pages.page(f"/own{number}", f"<!doctype html>{body}"))
        target = {} if tool == "type_keys" else {"target": "#x"}
        assert tell(opened.call(tool, **{**target, **given})).startswith(said), (body, tool)


def say(opened: Visit, body: str, tool: str, *, focus: bool = False, **arguments: Any) -> str:
    """Return what a tool says of a page."""
    show_page(opened, body)
    if focus:
        opened.run(opened.window.page.locator("#x").focus())
    return tell(opened.call(tool, **arguments))


def show_page(opened: Visit, body: str) -> None:
    opened.run(opened.window.page.set_content(f"<!doctype html>{body}"))


def tell(result: ToolResult) -> str:
    """Return what a call says; an exclamation mark stands before an error."""
    return f"{'' if result.ok else '!'}{result.output}"


def test_a_fill_says_what_is_there(visit: Visits) -> None:
    """A field that holds something else is an error, with the form that it takes."""
    opened = visit("")
    for body, text, said in FILLED:
        assert say(opened, body, "fill", target="#x", text=text).startswith(said), body


@pytest.mark.slow
def test_typing_says_what_is_there(visit: Visits) -> None:
    """It goes behind what a field holds; what takes no keys is refused before one is pressed."""
    opened = visit("")
    for body, text, said, value in TYPED:
        assert say(opened, body, "type_text", target="#x", text=text).startswith(said), body
        assert opened.js("x.value ?? null") == value or "contenteditable" in body, body


def test_keys_go_to_what_has_the_focus(visit: Visits) -> None:
    """What that holds then is read as well, and the agent is told where nothing has it."""
    opened = visit("")
    for body, given, said in KEYS:
        assert say(opened, body, "type_keys", focus=True, **given).startswith(said), body
    lost = "No element has the focus: only the page itself could react to the keys."
    assert say(opened, "<input>", "type_keys", text="a") == f"Typed 'a'. {lost}"
    assert say(opened, "<input>", "press_key", key="a") == f"Pressed a. {lost}"
    assert say(opened, "<input>", "press_key", key="Tab") == "Pressed Tab."
    assert say(opened, "<input id=x disabled>", "press_key", key="a", target="#x") == "!#x is disabled."
    assert say(opened, "<input id=x value=ab>", "press_key", key="Backspace", target="#x").startswith(
        "Pressed"
    )
    assert opened.js("x.value") == "a"


def test_another_document_is_not_what_was_filled(visit: Visits) -> None:
    """A field of the page that a fill leads to says nothing of the one that was filled."""
    opened = visit("<form><input id=x name=q oninput='this.form.submit()'></form>")
    assert opened.output("fill", target="#x", text="Ann").startswith("Filled #x with 'Ann'.")
