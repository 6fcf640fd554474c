# ruff: noqa: E501 -- tables of pages
"""What is switched or chosen after a call is what the call says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Visits
from tests.tools.test_values import say, show_page, tell

COVERED = """<style>label { position: relative } i { position: relative; display: inline-block; background: red }
i, input { width: 20px; height: 20px } input { position: absolute; left: 0 }</style>"""
COMPONENT = """<my-x id=x></my-x><script>customElements.get('my-x') || customElements.define('my-x', class extends HTMLElement {
  constructor() {
    super();
    const root = this.attachShadow({mode: 'open'});
    root.innerHTML = `<input type=checkbox style='position:absolute'><b style='position:relative'>box</b>`;
    root.querySelector('b').onclick = () => root.querySelector('input').click();
  }
  get checked() { return this.shadowRoot.querySelector('input').checked; }
})</script>"""
HIDDEN = "<label><input id=x type=checkbox style='display:none'>{}</label>"
SWITCHED = [
    # What covers a box or stands for it is the label's or the component's own.
    (f"{COVERED}<label><input id=x type=checkbox><i></i> Yes</label>", "check", "#x is checked.", True),
    (f"{COVERED}<label><input id=x type=checkbox checked><i></i> Yes</label>", "uncheck", "#x is not checked.", False),
    (HIDDEN.format("<i>Box</i> the <a href='/terms'>terms and conditions of sale</a>"), "check", "#x is checked.", True),
    (HIDDEN.format("only text"), "check", "#x is checked.", True),
    ("<input id=x type=radio style='opacity:0;position:absolute'><label for=x style='position:relative'>R</label>",
     "check", "#x is checked.", True),
    (COMPONENT, "check", "#x is checked.", True),
    ("<div style='height:3000px'></div><input id=x type=checkbox>", "check", "#x is checked.", True),
    ("<input id=x type=checkbox checked>", "check", "#x is checked.", True),
    ("<input id=x type=checkbox>", "uncheck", "#x is not checked.", False),
    # A page that does not keep it, at once, later or in the next frame.
    *((f"<input id=x type=checkbox onclick='{script}'>", "check", "!#x is not checked: the page did not keep the click.", False)
      for script in ("return false", "setTimeout(() => this.checked = false)",
                     "requestAnimationFrame(() => this.checked = false)")),
    ("<p id=x role=switch aria-checked=false>x", "check", "!#x is not checked: the page did not keep the click.", None),
    # What is something else, in the way, or gone.
    ("<p id=x>x", "uncheck", "!#x is not a check box or a radio button.", None),
    ("<input id=x type=radio checked>", "uncheck", "!#x is a radio button. Check another one of its group instead.", True),
    ("<input id=x type=checkbox><p style='position:fixed;inset:0'>veil", "check", "!#x is covered by <p>veil</p>", False),
    ("<input id=x type=checkbox disabled>", "check", "!#x is disabled.", False),
    ("<p id=p><input id=x type=checkbox onclick='this.remove()'>", "check", "Clicked #x.", None),
]  # fmt: skip
"""A page, a tool, what it says (an exclamation mark stands before an error), and how the box is then."""


@pytest.mark.slow
def test_a_box_is_as_the_call_says(visit: Visits) -> None:
    """A person clicks the label where it covers its box; a page that switches back is told as an error."""
    opened = visit("")
    opened.limit(action_s=2.0)
    before = opened.window.url
    for body, tool, said, is_on in SWITCHED:
        assert say(opened, body, tool, target="#x").startswith(said), body
        assert opened.js("document.querySelector('#x')?.checked ?? null") is is_on, body
        assert opened.window.url == before, body


COLORS = (
    "<select id=x multiple><option value=r>Red<option value=g disabled>Green<option value=b>Blue</select>"
)
TOWNS = "<select id=x><option>?<option value=il>Springfield<option value=mo>Springfield</select>"
LISTBOX = """<ul id=x role=listbox aria-multiselectable={}><li role=option>Red<li role=option data-value=g>Green
<li role=option aria-disabled=true>Blue</ul><script>x.onclick = ({{target, ctrlKey, metaKey}}) => {{
  const was = target.ariaSelected === 'true';
  if (!ctrlKey && !metaKey) for (const one of x.children) one.ariaSelected = false;
  target.ariaSelected = !was;
}}</script>"""
COMPONENT_LIST = """<my-list id=x><b role=option>Red</b><b role=option style='{}'>Blue</b></my-list><script>
customElements.get('my-list') || customElements.define('my-list', class extends HTMLElement {{
  connectedCallback() {{
    this.attachShadow({{mode: 'open'}}).innerHTML = '<div role=listbox aria-multiselectable=true {}><slot></slot></div>';
    this.onclick = ({{target}}) => target.ariaSelected = target.ariaSelected !== 'true';
  }}
}})</script>"""
LATE = """<ul id=x role=listbox></ul><script>setTimeout(() => x.innerHTML = '<li role=option>Oslo', 300);
x.onclick = ({target}) => target.ariaSelected = true</script>"""
TURNED = "<select id=x><option value=1>2<option value=2>1</select>"
BACK = "<select id=x onchange='requestAnimationFrame(() => value = \"a\")'><option value=a>A<option value=b>B</select>"
CHOSEN: list[tuple[str, list[Any], str, list[str]]] = [
    (COLORS, ["Red"], "Chose 'Red' in #x. Chosen now: 'Red'.", ["r"]),
    (COLORS, ["Red", "b"], "Chose 'b' in #x. Chosen now: 'Red', 'Blue'.", ["r", "b"]),
    (COLORS, ["Red", "Green"], "!The option 'Green' of #x is disabled.", ["r"]),
    (TOWNS, ["Springfield"], "!#x has several options 'Springfield'. Write the value of one of them: 'il', 'mo'.", ["?"]),
    (TOWNS, ["mo"], "Chose 'mo' in #x.", ["mo"]),
    (TURNED, ["2", "1"], "Chose '1' in #x.", ["2"]),
    (BACK, ["B"], "!#x has 'A' chosen now, not 'B': the page did not keep it.", ["a"]),
    ("<label id=x>L <select><option>A<option>B</select></label>", ["B"], "Chose 'B' in #x.", ["B"]),
    ("<select id=x disabled><option>A<option>B</select>", ["B"], "!#x is disabled.", ["A"]),
    (COLORS, [["Red"], ["Blue", "r"]], "Chose 'Blue', 'r' in #x. Chosen now: 'Red', 'Blue'.", ["r", "b"]),
    (COLORS, [["Red", "Blue"], ["b"]], "Chose 'b' in #x. Chosen now: 'Blue'.", ["b"]),
    (COLORS, ["Red", []], "Chose nothing in #x. Chosen now: nothing.", []),
    (COLORS, [["Red", "Bleu"]], "!#x has no option 'Bleu'. Did you mean 'Blue'? Options: 'Red', 'Green', 'Blue'.", []),
    (COLORS, [["Red", "Green"]], "!The option 'Green' of #x is disabled.", []),
    (TURNED, [["1", "2"]], "!#x takes one option: pass value instead of values.", ["1"]),
    (LISTBOX.format("true"), ["Red", "g"], "Chose 'g' in #x. Chosen now: 'Red', 'Green'.", ["Red", "g"]),
    (LISTBOX.format("true"), [["Red", "Green"], ["Green"]], "Chose 'Green' in #x. Chosen now: 'Green'.", ["g"]),
    (LISTBOX.format("false"), ["Red", "Green"], "Chose 'Green' in #x.", ["g"]),
    (LISTBOX.format("true"), [["Red", "Blue"]], "!The option 'Blue' of #x is disabled.", []),
    (LISTBOX.format("true"), ["Gren"], "!#x has no option 'Gren'. Did you mean 'Green'? Options: 'Red', 'Green', 'Blue'.", []),
    (COMPONENT_LIST.format("", ""), [["Red", "Blue"], ["Blue"]], "Chose 'Blue' in #x. Chosen now: 'Blue'.", ["Blue"]),
    (COMPONENT_LIST.format("", "hidden").replace("my-list", "my-closed"), [["Red"]],
     "!#x is closed, so that none of its options is seen. Click it first.", []),
    (LATE, ["Oslo"], "Chose 'Oslo' in #x.", ["Oslo"]),
    ("<p id=x>A", ["A"], "!#x is not a list of options.", []),
]  # fmt: skip
"""A page, what is chosen one after the other, what the last call says, and the values that are chosen then."""


@pytest.mark.slow
def test_a_list_has_chosen_what_the_call_says(visit: Visits) -> None:
    """A label counts before a value; where several may be chosen, a choice is added to them."""
    opened = visit("")
    opened.limit(action_s=2.0)
    for body, values, said, chosen in CHOSEN:
        show_page(opened, body)
        for value in values:
            given = {"values" if isinstance(value, list) else "value": value}
            last = tell(opened.call("select_option", target="#x", **given))
        assert last == said, body
        assert (
            opened.js(
                "[...document.querySelectorAll('option, [role=option]')].filter((o) => o.selected ?? o.ariaSelected === "
                "'true').map((o) => o.value || o.dataset.value || o.innerText)"
            )
            == chosen
        )


POPUP = """<div style='padding:9px'><input id=x role=combobox aria-expanded=false aria-controls=l {field}>
<ul id=l role=listbox hidden></ul></div><script>{{
  const show = (all) => l.innerHTML = all.map((one) => `<li role=option ${{one === 'Off' ? 'aria-disabled=true' : ''}}>${{one}}`).join('');
  const all = ['Oslo', 'Olso', 'Off'];
  {script}
  x.onclick = () => {{ l.hidden = false; x.ariaExpanded = 'true'; open(); }};
  l.onclick = ({{target}}) => {{ take(target.textContent); l.hidden = true; x.ariaExpanded = 'false'; }};
}}</script>"""
OPEN, TAKE = "const open = () => show(all);", "const take = (text) => x.value = text;"
FILTERED = f"""const open = () => {{}}; {TAKE}
x.oninput = () => setTimeout((asked) => show(['Oslo', 'Bern'].filter((one) => one.startsWith(asked))), 300, x.value);"""
DRAWN = f"""{TAKE} let at = 0; const many = [...Array(60).keys()].map((n) => `Row ${{n}}`);
const open = () => {{
  l.innerHTML = `<li role=option id=o${{at}}>${{many[at]}}`; x.setAttribute('aria-activedescendant', `o${{at}}`);
}};
x.onkeydown = ({{key}}) => {{
  if (key === 'Enter') return take(many[at]);
  at = Math.min(59, Math.max(0, at + (key === 'ArrowDown' ? 1 : -1)));
  open();
}}; l.style = 'height: 0; width: 0; overflow: hidden; padding: 0';"""
CHIPS = """<div><b id=chips></b><button id=x role=combobox aria-expanded=true aria-controls=l>Add</button></div>
<ul id=l role=listbox aria-multiselectable=true><li role=option>Red<li role=option>Blue</ul><script>
l.onclick = ({target}) => { target.ariaSelected = target.ariaSelected !== 'true';
  chips.innerHTML = [...l.children].filter((it) => it.ariaSelected === 'true').map((it) => `<p>${it.textContent}</p>`).join(''); };
</script>"""
STILL = " The field may still hold what was typed to find it."
COMBOBOXES: list[tuple[str, list[Any], str, str]] = [
    (POPUP.format(field="", script=OPEN + TAKE), ["Oslo"], "Chose 'Oslo' in #x.", "Oslo"),
    (POPUP.format(field="readonly", script=OPEN + TAKE), ["Oslo", "Olso"], "Chose 'Olso' in #x.", "Olso"),
    (POPUP.format(field="", script=FILTERED), ["Bern"], "Chose 'Bern' in #x.", "Bern"),
    (POPUP.format(field="readonly", script=DRAWN), ["Row 40", "Row 3"], "Chose 'Row 3' in #x.", "Row 3"),
    (POPUP.format(field="readonly", script=OPEN.replace("show(all)", "setTimeout(show, 300, all)") + TAKE), ["Oslo"],
     "Chose 'Oslo' in #x.", "Oslo"),
    (POPUP.format(field="readonly", script=OPEN + TAKE), ["Olo"],
     "!#x has no option 'Olo'. Did you mean 'Oslo'? Options: 'Oslo', 'Olso', 'Off'.", ""),
    (POPUP.format(field="", script=OPEN + TAKE), ["Olo"],
     "!#x has no option 'Olo'. Did you mean 'Oslo'? Options: 'Oslo', 'Olso', 'Off'." + STILL, "Olo"),
    (POPUP.format(field="readonly", script=OPEN + TAKE), ["Off"], "!The option 'Off' of #x is disabled.", ""),
    (POPUP.format(field="readonly", script=OPEN + "const take = () => {};"), ["Oslo"],
     "!#x shows nothing now, not 'Oslo': the page did not keep it.", ""),
    (POPUP.format(field="", script=OPEN + "const take = () => x.value = 'OSL';"), ["Oslo"],
     "Chose 'Oslo' in #x, which shows 'OSL' now.", "OSL"),
    (POPUP.format(field="disabled", script=OPEN + TAKE), ["Oslo"], "!#x is disabled.", ""),
    (POPUP.format(field="aria-haspopup=tree", script=OPEN + TAKE), ["Oslo"],
     "!#x opens a tree, not a list of options. Click it.", ""),
    (POPUP.format(field="", script=OPEN + TAKE), [["Oslo", "Olso"]],
     "!#x takes one option in a call: pass value, once for each.", ""),
    ("<input id=x list=l><datalist id=l><option>Oslo</datalist>", ["Oslo"], "!#x is a text field with suggestions. Call fill.", ""),
    (CHIPS, ["Red", "Blue", "Red"], "#x has 'Red' already. Its list is open.", "Red Blue"),
]  # fmt: skip
"""As above; the field's value, or the chips."""


@pytest.mark.slow
def test_a_combobox_has_what_the_call_says(visit: Visits) -> None:
    """It is opened, filtered, waited for, or gone through by arrow keys, and read afterwards."""
    opened = visit("")
    opened.limit(action_s=2.0)
    for body, values, said, shown in COMBOBOXES:
        show_page(opened, body)
        for value in values:
            given = {"values" if isinstance(value, list) else "value": value}
            last = tell(opened.call("select_option", target="#x", **given))
        assert last == said, body
        text = "(x.value || document.querySelector('#chips')?.innerText || '').replace(/\\s+/g, ' ')"
        assert opened.js(text) == shown, body


def test_a_handle_that_shows_under_the_pointer_is_dragged(visit: Visits) -> None:
    """A look at the target does not hide it."""
    opened = visit(
        "<style>#a i { display: none; width: 20px; height: 20px } #a:hover i { display: block }"
        "#a { width: 99px; height: 40px } #b { margin-top: 50px }</style><div id=a><i></i></div><p id=b>there"
        "<script>onmouseup = ({target}) => document.title = target.id; onmousedown = () => b.title = 1</script>"
    )
    opened.output("hover", target="#a")
    assert opened.output("drag", source="#a i", target="#b").startswith("Dragged #a i to #b")
    assert opened.js("document.title") == "b"
