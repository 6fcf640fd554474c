"""Failures that were designed before the rules were written: a site, what an agent does there, and the cause.

Each is played twice: with the row's solution, and with nothing known of the way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.features.causes.steps import Step, button, check, click, done, fill, go, link, read, wait

CART = """<script>
const items = JSON.parse(localStorage.cart ?? "[]");
const keep = (changed, to) => { localStorage.cart = JSON.stringify(changed); location = to };
const say = () => items.map(([name, count]) => `${count} x ${name}`).join(", ") || "nothing";
</script>"""
NAV = '<nav><a href="/">Home</a> <a href="/cart">Cart</a></nav>'
ITEM = """<h1>{0} tray</h1><p>Price: {1} EUR. Shipping: 3.00 EUR.</p>
<label>Quantity <input name=n value=1></label>
<button onclick='keep([...items, ["{0} tray", document.querySelector("[name=n]").value]], "/cart")'>
Add to cart</button>"""
PAGES: dict[str, str] = {
    "/": """<h1>Shop</h1><style>a {position: absolute; left: 20px}</style>
<a id=oak style="top:100px" href="/oak">Oak tray</a>
<a id=olive style="top:140px" href="/olive">Olive tray</a>
<a style="top:180px" href="/desk">Front desk</a> <a style="top:220px" href="/form">Sign up</a>
<a style="top:260px" href="/login">Log in</a> <a style="top:300px" href="/pay">Pay a bill</a>
<a style="top:340px" href="/stock" target=_blank>Stock list</a> <a style="top:380px" href="/prices">Prices</a>
<a style="top:420px" href="/boom">Report</a> <a style="top:460px" href="/private">Staff</a>
<a style="top:500px" href="/slow">Board</a> <a style="top:540px" href="/banner">Offers</a>
<a style="top:580px" href="/orders-gate">My orders</a> <a style="top:620px" href="/counter">Counter</a>
<a style="top:660px" href="/help">Help</a>""",
    "/oak": ITEM.format("Oak", "12.50"),
    "/olive": ITEM.format("Olive", "19.90"),
    "/cart": """<h1>Cart</h1><p id=said></p><button onclick='keep([], "/cart")'>Remove all</button>
<button onclick='localStorage.ordered = say(); keep([], "/thanks")'>Place order</button>
<script>said.textContent = "In the cart: " + say()</script>""",
    "/thanks": """<h1>Thank you</h1><p id=said></p>
<script>said.textContent = "Ordered: " + localStorage.ordered + "."</script>""",
    "/help": "<h1>Help</h1><p>We answer within 2 days.</p>",
    "/desk": "<h1>Front desk</h1><p>Opening hours: 8 to 17.</p>",
    "/form": """<h1>Sign up</h1><label>Name <input id=name></label><label>City <input id=city></label>
<label>Zip <input id=zip></label><label><input type=checkbox id=terms> I accept the terms</label>
<button id=send>Send</button><p role=alert id=error></p><script>send.onclick = () => {
  const isZip = /^[0-9]{4}$/.test(zip.value), missing = terms.checked ? "" : "Please accept the terms.";
  const wrong = isZip ? missing : "Zip must be 4 digits.";
  error.textContent = wrong;
  if (!wrong) keep([[`${name.value}, ${city.value} ${zip.value}`, 1]], "/cart");
}</script>""",
    "/login": """<h1>Log in</h1><form action=/account><label>User <input name=user></label>
<label>Password <input name=word type=password></label><button>Log in</button></form>""",
    "/account": '<h1>Account</h1><a href="/orders">Orders</a> <a href="/invoices">Invoices</a>',
    "/orders": "<h1>Orders</h1><p>You have 3 orders.</p>",
    "/invoices": "<h1>Invoices</h1><p>You have 9 invoices.</p>",
    "/orders-gate": '<script>location.replace("/login?next=/orders")</script>',
    "/pay": """<h1>Pay a bill</h1><label>Code <input id=outer></label>
<iframe title=bill srcdoc="<label>Code <input id=inner></label>
<button onclick='top.paid.textContent = inner.value'>Pay</button>"></iframe>
<p>Paid with: <b id=paid></b></p>""",
    "/stock": "<h1>Stock list</h1><button onclick='localStorage.held = 1'>Reserve</button>",
    "/prices": "<h1>Prices</h1><table><tr><td>Pine tray<td>7.00<tr><td>Teak tray<td>31.00"
    "<tr><td>Elm tray<td>15.00</table>",
    "/slow": "<h1>Board</h1><p>Loading…</p>",
    "/banner": """<h1>Offers</h1><button onclick="location='/thanks'">Take the offer</button>
<div id=consent style="position:fixed;inset:0;background:#fffc"><p>We use cookies</p>
<button onclick="consent.remove()">Accept all</button></div>""",
    "/counter": "<h1>Counter</h1><p id=n>0</p><button onclick='n.textContent++'>More</button>",
}

LOOK: Step = {"tool": "snapshot"}
OAK, OLIVE, ADD, ORDER = link("Oak tray"), link("Olive tray"), button("Add to cart"), button("Place order")
BUY = (OAK, ADD, ORDER, done())
BUYING = "Order one Oak tray."
ORDERED = {"text": "Ordered: 1 x Oak tray."}
SIGN = (
    link("Sign up"), fill("label=Name", "Ada"), fill("label=City", "Oslo"), fill("label=Zip", "0150"),
    check("label=I accept the terms"), button("Send"), done(),
)  # fmt: skip
SIGNING = "Sign up as Ada from Oslo, zip 0150, and accept the terms."
SIGNED = {"text": "1 x Ada, Oslo 0150"}
LOG_IN = (link("Log in"), fill("label=User", "ada"), fill("label=Password", "lovelace"))
ENTER: Step = {"tool": "press_key", "key": "Enter", "target": "label=Password"}
PRICE = (OAK, read("body"), done("12.50"))
PRICING = "What does the Oak tray cost?"
ORDERS = (*LOG_IN, ENTER, link("Orders"), read("body"), done("3"))
ORDERING = "Log in as ada with the password lovelace. How many orders are there?"
FENCE = '```json\n{"name": "click", "arguments": {"target": "text=Oak tray"}}\n```'


@dataclass(frozen=True)
class Design:
    """A failure with its cause: any of several names where people would differ."""

    name: str
    query: str
    steps: tuple[Step, ...]
    solution: tuple[Step, ...]
    cause: str
    step: int | None
    alone: str = ""
    """The cause with nothing known, where it is another; ``not_known`` where no one could tell."""
    grade: dict[str, Any] = field(default_factory=dict)


def wants(check: dict[str, Any]) -> dict[str, Any]:
    return {"graders": ["page_state"], "checks": [check]}


def asks(answer: str) -> dict[str, Any]:
    return {"graders": [{"type": "answer", "match": "number"}], "answer": answer}


def at(x: int, y: int) -> Step:
    return {"tool": "click_at", "x": x, "y": y}


BOUGHT, PRICED, COUNTED = wants(ORDERED), asks("12.50"), asks("3")

DESIGNS = (
    Design("wrong item", BUYING, (LOOK, OLIVE, ADD, ORDER, done()), BUY, "wrong_target", 2, grade=BOUGHT),
    Design("wrong item at a point", BUYING, (LOOK, at(30, 150), ADD, ORDER, done()), BUY,
           "wrong_target", 2, grade=BOUGHT),
    Design("wrong item by a selector", BUYING, (LOOK, click("#olive"), ADD, ORDER, done()), BUY,
           "wrong_target", 2, grade=BOUGHT),
    Design("the page's field, not the frame's", "Pay the bill with the code 77.",
           (link("Pay a bill"), fill("label=Code", "77"), click("iframe >>> role=button"), done()),
           (link("Pay a bill"), fill("iframe >>> label=Code", "77"), click("iframe >>> role=button"), done()),
           "wrong_target", 2, "not_known", wants({"text": "Paid with: 77"})),
    Design("the other tab", "Open the stock list, then order one Oak tray in the first tab.",
           (link("Stock list"), button("Reserve"), done()),
           (link("Stock list"), {"tool": "select_tab", "tab_id": 1}, *BUY),
           "wrong_target|step_left_out", 2,
           "answered_too_early|wrong_target|step_left_out|not_known", BOUGHT),
    Design("a tick left out", SIGNING, (*SIGN[:4], *SIGN[5:6], LOOK, done()), SIGN,
           "step_left_out", 5, "form_refused|step_left_out", wants(SIGNED)),
    Design("done twice", BUYING, (OAK, ADD, go("{s}/oak"), ADD, ORDER, done()), BUY,
           "step_repeated", 4, "step_repeated|not_known", BOUGHT),
    Design("a wrong count", "Order 4 Oak trays.",
           (OAK, fill("label=Quantity", "5"), ADD, ORDER, done()),
           (OAK, fill("label=Quantity", "4"), ADD, ORDER, done()),
           "wrong_value", 2, grade=wants({"text": "Ordered: 4 x Oak tray"})),
    Design("another order, and a wrong zip", SIGNING,
           (SIGN[0], SIGN[2], SIGN[1], SIGN[4], fill("#zip", "0250"), *SIGN[5:]), SIGN,
           "wrong_value", 5, grade=wants(SIGNED)),
    Design("Log in for Enter, then a wrong link", ORDERING,
           (*LOG_IN, button("Log in"), link("Invoices"), read("body"), done("9")), ORDERS,
           "wrong_target|never_reached_page", 5, "never_reached_page|wrong_target", COUNTED),
    Design("Log in for Enter, and a wrong answer", ORDERING,
           (*LOG_IN, button("Log in"), link("Orders"), read("body"), done("4")), ORDERS,
           "wrong_answer", 7, grade=COUNTED),
    Design("answers before the order", BUYING, (OAK, ADD, LOOK, done()), BUY,
           "answered_too_early", 4, "not_known", BOUGHT),
    Design("gives up", PRICING, (link("Help"), read("body"), done("I was unable to find the price.")), PRICE,
           "gave_up", 1, grade=PRICED),
    Design("gives up in German", PRICING,
           (link("Help"), read("body"), done("Den Preis konnte ich leider nicht finden.")), PRICE,
           "gave_up", 1, grade=PRICED),
    Design("a wrong number of the right page", PRICING, (OAK, read("body"), done("3.00")), PRICE,
           "wrong_answer", 3, grade=PRICED),
    Design("by its address, and a wrong number", PRICING, (go("{s}/oak"), read("body"), done("3.00")), PRICE,
           "wrong_answer", 3, grade=PRICED),
    Design("the right page never reached", PRICING, (link("Help"), read("body"), done("2")), PRICE,
           "never_reached_page", 1, grade=PRICED),
    Design("to and fro", BUYING, (*4 * (go("{s}/help"), go("{s}/desk")), done()), BUY, "loop_of_pages", 1,
           grade=BOUGHT),
    Design("again and again", PRICING, (link("Counter"), *5 * (button("More"),), done("5")), PRICE,
           "repeated_action", 1, grade=PRICED),
    Design("out of steps", PRICING,
           tuple(go(f"{{s}}/{name}") for name in (
               "help", "desk", "form", "login", "account", "orders", "invoices", "pay", "stock", "slow",
               "counter", "thanks", "cart")),
           PRICE, "out_of_steps", 1, grade=PRICED),
    Design("a call as text", PRICING, (LOOK, {"say": FENCE}), PRICE,
           "reply_not_a_call", 1, grade=PRICED),
    Design("wrong arguments", PRICING, (LOOK, *2 * ({"tool": "click", "element": "Oak tray"},), done("1")),
           PRICE, "wrong_arguments", 2, grade=PRICED),
    Design("an unknown tool", PRICING, (LOOK, *2 * ({"tool": "browse", "to": "Oak tray"},), done("1")),
           PRICE, "unknown_tool", 2, grade=PRICED),
    Design("HTTP 500", "How many reports are there?", (link("Report"), read("body"), done("0")),
           (link("Report"), read("body"), done("5")), "site", 1, grade=asks("5")),
    Design("HTTP 403", "How many people work here?", (link("Staff"), read("body"), done("0")),
           (link("Staff"), read("body"), done("5")), "page_error", 1, grade=asks("5")),
    Design("HTTP 404 of an address made up", PRICING, (go("{s}/oak-tray"), read("body"), done("9")), PRICE,
           "page_error", 1, grade=PRICED),
    Design("waits in vain", "What is on the board?",
           (link("Board"), *2 * (wait("Notice", 0.5),), done("0")),
           (link("Board"), wait("Notice", 30), done("5")), "page_too_slow", 2, grade=asks("5")),
    Design("not there yet", "How many notices are on the board?", (link("Board"), read("body"), done("0")),
           (link("Board"), wait("Notice", 30), read("body"), done("5")), "page_too_slow", 3,
           grade=asks("5")),
    Design("a banner in the way", "Take the offer.",
           (link("Offers"), *2 * (button("Take the offer"),), done()),
           (link("Offers"), button("Accept all"), button("Take the offer"), done()), "target_covered", 2,
           grade=wants({"url": {"contains": "/thanks"}})),
    Design("asked to log in", "How many orders do I have?", (link("My orders"), read("body"), done("0")),
           (link("My orders"), read("body"), done("3")), "login_needed", 1, grade=COUNTED),
    Design("ordered and taken out", "Put one Oak tray into the cart.",
           (OAK, ADD, button("Remove all"), done()),
           (OAK, ADD, done()), "right_state_lost", 3, grade=wants({"text": "In the cart: 1 x Oak tray"})),
    Design("a form that is refused", SIGNING,
           (*SIGN[:3], fill("label=Zip", "NO-150"), *SIGN[4:6], LOOK, done()), SIGN,
           "wrong_value", 4, "form_refused|wrong_value", wants(SIGNED)),
    Design("no call at all", PRICING, ({"say": "12 or so: it costs 11."},), PRICE,
           "no_step", None, grade=PRICED),
    Design("a row that cannot pass", PRICING, PRICE, PRICE,
           "wrong_row", 3, "wrong_answer|never_reached_page|not_known", asks("12.90")),
    Design("tools with other names", PRICING,
           ({"record": "web.go", "address": "{s}/oak"}, {"record": "web.look"}, {"say": "3.00"}),
           (go("{s}/oak"), read("body"), done("12.50")), "wrong_answer", 2, "wrong_answer|not_known", PRICED),
)  # fmt: skip

LIBRARY: dict[str, str] = {
    "/library": """<h1>Library</h1><table>
<tr><td>Dune<td>412 pages<td><button onclick="localStorage.loan = 'Dune'; location = '/loan'">Borrow</button>
<tr><td>Emma<td>474 pages<td><button onclick="localStorage.loan = 'Emma'; location = '/loan'">Borrow</button>
</table><ul><li><a href="/rules">Rules</a><li><a href="/branches">Branches</a>
<li><a href="/reserve">Reserve a room</a>
<li><a href="/renew">Renew a loan</a><li><a href="/members">Members</a><li><a href="/gone">Archive</a>
<li><a href="/boom">Statistics</a><li><a href="/leave">Leave the library</a></ul>""",
    "/loan": """<h1>Loan</h1><p id=said></p>
<button onclick="localStorage.loan = 'nothing'; location.reload()">Give back</button>
<script>said.textContent = "Borrowed: " + localStorage.loan</script>""",
    "/rules": "<h1>Rules</h1><p>Loans last 21 days. A fine is 0.50 EUR for each day.</p>",
    "/branches": "<h1>Branches</h1><p>North: from 8 to 18.</p><p>South: from 10 to 16.</p>",
    "/reserve": """<h1>Reserve a room</h1><select id=branch aria-label=Branch>
<option>East<option>North<option>South</select>
<label>Day <input id=day></label><label><input type=radio name=size id=small> Small</label>
<label><input type=radio name=size> Large</label>
<label><input type=checkbox id=news checked> Newsletter</label>
<button onclick="said.textContent += ` Reserved: ${branch.value}, ${day.value}, ${small.checked},
 ${news.checked}.`">
Reserve</button><p id=said></p>""",
    "/renew": """<h1>Renew a loan</h1><button id=go>Renew</button><p id=said></p>
<script>setTimeout(() => {
  said.textContent = "Ready";
  go.onclick = () => said.textContent = "Renewed";
}, 3000)</script>""",
    "/members": "<h1>Members</h1><p>Your session has expired. Please sign in again.</p>",
    "/leave": """<h1>Leave</h1>
<button onclick="said.textContent = confirm('Sure?') ? 'Left' : 'Stayed'">Leave</button>
<p id=said></p>""",
}


def ref(name: str, number: int = 1) -> Step:
    """Return a click on the element that the latest snapshot names so, by its ref."""
    return {"tool": "click", "target": f"@{number} {name}"}


def row_of(title: str) -> Step:
    return click(f'role=row[name=/{title}/] >> role=button[name="Borrow"]')


DUNE, BORROWING = row_of("Dune"), "Borrow the book Dune."
LOANED = wants({"text": "Borrowed: Dune"})
RULES = (link("Rules"), read("body"), done("21"))
LASTING = "How many days do loans last?"
ROOM = (
    link("Reserve a room"), {"tool": "select_option", "target": "label=Branch", "value": "South"},
    fill("label=Day", "2026-03-14"), check("label=Small"), {"tool": "uncheck", "target": "label=Newsletter"},
    button("Reserve"), done(),
)  # fmt: skip
ROOMS = "Reserve a small room in the branch South on 2026-03-14, without the newsletter."
RESERVED = wants({"text": "Reserved: South, 2026-03-14, true, false."})
NORTH: Step = {"tool": "select_option", "target": "label=Branch", "value": "North"}
LARGE = check("label=Large")

MODEL_DESIGNS = (
    Design("wrong row by a ref", BORROWING, (LOOK, ref('button "Borrow"', 2), done()), (DUNE, done()),
           "wrong_target", 2, "wrong_target|not_known", LOANED),
    Design("wrong row by a selector", BORROWING, (row_of("Emma"), done()), (DUNE, done()),
           "wrong_target", 1, "wrong_target|not_known", LOANED),
    Design("borrowed and given back", BORROWING,
           (LOOK, ref('button "Borrow"'), LOOK, ref('button "Give back"'), done()), (DUNE, done()),
           "right_state_lost", 4, "right_state_lost", LOANED),
    Design("wrong option", ROOMS, (ROOM[0], LOOK, NORTH, *ROOM[2:]), ROOM, "wrong_value", 3, grade=RESERVED),
    Design("tick not taken away", ROOMS, (*ROOM[:4], *ROOM[5:]), ROOM,
           "step_left_out", 5, "not_known", RESERVED),
    Design("wrong radio button", ROOMS, (*ROOM[:3], LARGE, *ROOM[4:]), ROOM,
           "wrong_target", 4, "wrong_target|not_known", RESERVED),
    Design("wrong day", ROOMS, (*ROOM[:2], fill("#day", "2026-03-04"), *ROOM[3:]), ROOM, "wrong_value", 3,
           grade=RESERVED),
    Design("a reservation made again", ROOMS,
           (*ROOM[:6], button("Reserve"), done()), ROOM, "step_repeated", 7, "not_known",
           wants({"js": "said.textContent.split('Reserved').length", "equals": 2})),
    Design("the answer in another form", LASTING, (link("Rules"), read("body"), done("three weeks")), RULES,
           "wrong_answer", 3, "not_known", {"graders": ["answer"], "answer": "21 full days"}),
    Design("broken arguments", LASTING, 10 * ({"tool": "click", "raw": '{"target": '},), RULES,
           "reply_not_a_call", 1, grade=asks("21")),
    Design("a plan and no call", LASTING, ({"say": "I will open the rules now, and then answer."},), RULES,
           "no_step", None, grade=asks("21")),
    Design("a call in the words of another prompt", LASTING, (LOOK, {"say": "Action: click[Rules]"}), RULES,
           "reply_not_a_call", 1, grade=asks("21")),
    Design("a button that does nothing yet", "Renew the loan.",
           (link("Renew a loan"), button("Renew"), done()),
           (link("Renew a loan"), wait("Ready", 10), button("Renew"), done()),
           "page_too_slow|step_left_out", 3, "page_too_slow|not_known", wants({"text": "Renewed"})),
    Design("session expired", "How many members are there?", (link("Members"), read("body"), done("0")),
           (link("Members"), read("body"), done("5")), "login_needed", 1, grade=asks("5")),
    Design("an error, and then a guess", "How many books were lent?",
           (link("Statistics"), {"tool": "go_back"}, done("7")),
           (link("Statistics"), read("body"), done("5")), "page_error", 1, grade=asks("5")),
    Design("scrolls and scrolls", LASTING, (*6 * ({"tool": "scroll", "direction": "down"},), done("1")),
           RULES, "repeated_action", 1, grade=asks("21")),
    Design("looks until its steps are used", LASTING, 13 * (LOOK,), RULES, "out_of_steps", 12,
           grade=asks("21")),
    Design("wrong link by a ref", LASTING, (LOOK, ref('link "Branches"'), read("body"), done("18")), RULES,
           "never_reached_page|wrong_target", 2, "never_reached_page|wrong_target", asks("21")),
    Design("dialog dismissed", "Leave the library.",
           (link("Leave the library"), button("Leave"), {"tool": "handle_dialog", "accept": False}, done()),
           (link("Leave the library"), button("Leave"), {"tool": "handle_dialog", "accept": True}, done()),
           "wrong_value", 3, "not_known", wants({"text": "Left"})),
)  # fmt: skip
