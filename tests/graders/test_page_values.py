"""Values of a page that has changed what JavaScript itself brings."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.graders.observing import LivePage
from pytest_browsereval.graders.page_values import NoValue
from tests.graders.support import Live, Site
from tests.graders.test_observing import read

FORGER = """<!doctype html><title>Forger</title><script>
window.state = {done: false, cart: [{id: 1, count: 2}], note: 'a', big: 10n, at: new Date(0)};
const forged = () => '{"done": true}';
JSON.stringify = forged;
Object.prototype.toJSON = Array.prototype.toJSON = String.prototype.toJSON = () => ({done: true});
Date.prototype.toJSON = Date.prototype.toISOString = Date.prototype.toString = () => 'forged';
for (const kind of [Object, Array, Promise, Function, String, Number])
  for (const name of Object.getOwnPropertyNames(kind))
    if (typeof kind[name] === 'function' && name !== 'prototype') kind[name] = forged;
for (const kind of [Array, Promise, Function])
  for (const name of Object.getOwnPropertyNames(kind.prototype))
    if (name !== 'constructor') kind.prototype[name] = forged;
Array.prototype[Symbol.iterator] = forged;
</script>"""
EPOCH = "1970-01-01T00:00:00.000Z"
STATE = {"done": False, "cart": [{"id": 1, "count": 2}], "note": "a", "big": 10, "at": EPOCH}


def test_a_page_cannot_forge_its_values(live: Live, site: Site) -> None:
    """Values are those of the page's objects, whatever it has put in the place of JSON and of prototypes."""
    site.pages["/"] = FORGER
    values: dict[str, Any] = {
        "state": STATE,
        "({all: state})": {"all": STATE},
        "state.cart": STATE["cart"],
        "() => state.cart": STATE["cart"],
        "(async () => state)()": STATE,
        "state.at": STATE["at"],
        "({paragraphs: document.querySelectorAll('p').length})": {"paragraphs": 0},
    }

    async def work(page: LivePage) -> dict[str, Any]:
        return {expression: await page.value(expression) for expression in values}

    assert read(live, site.url, work) == values


ODD: list[tuple[str, Any]] = [
    (
        "({a: undefined, b: () => 1, c: Symbol('x'), d: [undefined, () => 1, Symbol('x'), , 0/0, -0]})",
        {"d": [None, None, None, None, None, 0]},
    ),
    ("({n: 0 / 0, i: 1 / 0, at: new Date(0 / 0)})", {"n": None, "i": None, "at": None}),
    ("({m: new Map([[1, 2]]), s: new Set([1]), r: /x/, e: Error('x')})", {key: {} for key in "msre"}),
    ("({p: document.body})", {"p": {}}),
    ("(() => { const q = {p: 1}; return {a: q, b: [q, q]} })()", {"a": {"p": 1}, "b": [{"p": 1}] * 2}),
    ("Object.create({inherited: 1}, {own: {value: 1, enumerable: true}, hidden: {value: 1}})", {"own": 1}),
    ("({['__proto__']: {z: 1}, get it() { return 5 }, '': 2})", {"__proto__": {"z": 1}, "it": 5, "": 2}),
    ("new (class { x = 1; toJSON() { return 2 } })()", {"x": 1}),
]
REFUSED = [
    ("({get it() { throw new Error('no') }})", "it threw Error: no"),
    ("({w: window})", "or holds itself"),
    ("location", "it is a Location, which is not JSON"),
    ("new URL('http://a.test/')", "it is a URL, which is not JSON"),
    ("(() => { const a = [[], []]; a[0].push(a); a[1].push(a); return a })()", "or holds itself"),
    ("new Proxy({}, {ownKeys() { throw new Error('no keys') }})", "it threw Error: no keys"),
]
PROXIES: list[tuple[str, Any]] = [
    ("reactive({a: 1, list: [{b: 2}, [3]], at: new Date(0), f() {}, none: undefined, not: 0 / 0})",
     {"a": 1, "list": [{"b": 2}, [3]], "at": "1970-01-01T00:00:00.000Z", "not": None}),
    ("({cart: reactive([{id: 1}, {id: 2}]), rest: [1, reactive({x: [-0, 10n]})]})",
     {"cart": [{"id": 1}, {"id": 2}], "rest": [1, {"x": [0, 10]}]}),
    ("reactive(reactive([]))", []),
]  # fmt: skip
REACTIVE = """<script>const reactive = (what) => new Proxy(what, {
  get(of, name) {
    const value = of[name];
    return typeof value === 'object' && value && !(value instanceof Date) ? reactive(value) : value;
  }});</script>"""


def test_what_is_no_json(live: Live, site: Site) -> None:
    """Values follow JSON, proxies are read through their traps, and what has no value says why."""
    site.pages["/"] = REACTIVE

    async def work(page: LivePage) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for expression in [given for given, _ in (*ODD, *PROXIES, *REFUSED)]:
            try:
                seen[expression] = await page.value(expression)
            except NoValue as error:
                seen[expression] = error
        return seen

    seen = read(live, site.url, work)
    for expression, value in (*ODD, *PROXIES):
        assert seen[expression] == value, expression
    for expression, reason in REFUSED:
        assert reason in str(seen[expression]), expression
