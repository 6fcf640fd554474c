"""Pages that fight the recorder: they add no step, end nothing, and see nothing of it."""

from __future__ import annotations

import pytest

from tests.features.record.conftest import Record
from tests.features.record.hands import FINISH, Hands

pytestmark = pytest.mark.adversary

LOOK = """() => {
  const host = document.querySelector('browsereval-recorder');
  return {
    names: Object.getOwnPropertyNames(window).filter((name) => /browsereval|bridge|^b[0-9a-f]{9}/.test(name)),
    root: host?.shadowRoot ?? null,
    text: (host?.innerText ?? '') + document.body.innerText,
  };
}"""


def test_a_page_finds_nothing_of_it(record: Record) -> None:
    """No function and no variable of it is the page's, and its bar cannot be looked into."""

    async def act(hands: Hands) -> None:
        assert await hands.page.evaluate(LOOK) == {"names": [], "root": None, "text": "Hello"}

    record("<p>Hello</p>", act)


def test_what_scripts_do_is_no_step(record: Record) -> None:
    """Events that a script makes are those of nobody, on the page and on the bar."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.evaluate("""() => {
          const bar = document.querySelector('browsereval-recorder');
          for (const target of [b, i, bar, document.body, window]) {
            for (const kind of ['pointerdown', 'mousedown', 'click', 'dblclick', 'input', 'change'])
              target.dispatchEvent(new Event(kind, {bubbles: true, composed: true, cancelable: true}));
            target.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, composed: true}));
          }
          b.click(); i.value = 'x'; i.focus(); f.requestSubmit();
        }""")
        await hands.settle()
        assert hands.contents == []
        await page.locator("#b").click()

    html = "<form id=f onsubmit='return false'><input id=i></form><button id=b>Buy</button>"
    assert [item.content["tool"] for item in record(html, act)] == ["click"]


def test_what_scripts_type_is_no_step(record: Record) -> None:
    """The browser edits a field for a script as well; it counts where it answers a key in that field."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.evaluate("for (const one of [i, t, d]) enter(one)")
        await page.locator("#i").click()
        await page.evaluate("enter(t)")
        await hands.settle()
        assert [content["tool"] for content in hands.contents] == ["click"]
        await page.locator("#t").press("Tab")

    html = """<input id=i><textarea id=t onkeydown="event.preventDefault(); enter(this)"></textarea>
        <div id=d contenteditable></div>
        <script>function enter(one) {
          one.focus(); document.execCommand('insertText', false, 'x') }</script>"""
    assert [item.content.get("text") for item in record(html, act) if item.kind == "fill"] == ["xxx"]


def test_the_bar_is_no_text_of_the_page(record: Record) -> None:
    """A page that selects all selects nothing of the bar."""

    async def act(hands: Hands) -> None:
        await hands.page.get_by_role("button", name="Buy").click()
        await hands.settle()
        await hands.page.keyboard.press("Control+a")
        assert "Check" not in await hands.page.evaluate("String(getSelection())")

    record("<button>Buy</button>", act)


HIDE = "*{display:none} html,body,button{display:block} :not(a){position:static!important}"
BREAK = """for (const name of ['Element', 'Event', 'JSON', 'Array', 'String', 'Map']) delete window[name];
  Element.prototype.attachShadow = Array.prototype.map = () => { throw 1 }"""
ATTACKS = {
    "remove": "document.querySelectorAll('browsereval-recorder').forEach((one) => one.remove())",
    "write": "document.open(); document.write('<button>Buy</button>'); document.close()",
    "modal": "document.body.append(d = document.createElement('dialog')); d.append(b); d.showModal()",
    "style": f"document.head.append(s = document.createElement('style')); s.textContent = '{HIDE}'",
    "built-ins": BREAK,
    "stop": "addEventListener('click', (event) => event.stopImmediatePropagation(), true)",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_the_bar_comes_back(record: Record, attack: str) -> None:
    """Whatever a page takes away or breaks, steps are recorded and the bar can be pressed."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.evaluate(f"try {{ {attack} }} catch {{ }}")
        if not await page.locator("button").count():
            await page.evaluate("document.body.innerHTML = '<button>Buy</button>'")
        await hands.wait_for_listeners()
        await page.get_by_role("button", name="Buy").click()
        await hands.press("Check address")
        await hands.press(FINISH)

    items = record("<button id=b>Buy</button>", act, finishes=True)
    assert [item.content.get("target") for item in items] == ['role=button[name="Buy"]', None]


def test_a_strict_policy_of_content(record: Record) -> None:
    """The bar works on a page that allows no script, no style and no frame."""

    async def act(hands: Hands) -> None:
        await hands.page.get_by_role("button", name="Buy").click()
        await hands.press("Check address")
        await hands.press(FINISH)

    policy = {"Content-Security-Policy": "default-src 'none'; require-trusted-types-for 'script'"}
    assert record("<button>Buy</button>", act, finishes=True, headers=policy) is not None


def test_names_are_one_short_line(record: Record) -> None:
    """What a page calls things is bounded, whatever it is, and nothing but a text of the row."""

    async def act(hands: Hands) -> None:
        for button in await hands.page.get_by_role("button").all():
            await button.click()
            await hands.settle()
        for content in hands.contents:
            target = str(content["target"])
            assert len(target) < 500
            assert target.isprintable()
            assert len(await hands.ids_of(target)) == 1, target

    html = """<button>x" >>> role=button[name="y</button><button>a
        b\u2028c</button><button>[name="</button><button aria-label='\\"'>q</button>
        <button>\x1b[31mred</button>
        <button>${HOME}</button><button>{shop}</button><button>`rm -rf`</button>"""
    assert len(record(html, act)) == 8
