"""Reading a live page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from playwright.async_api import Error

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.observing import LivePage, fetch_json, live_page, wait_until_final
from pytest_browsereval.graders.page_values import NoValue
from tests.graders.support import Live, Site

T = TypeVar("T")

STRICT_PAGE = """<!doctype html><title>Strict</title>
<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'">
<script>window.app = {cart: [{id: 1}]};</script>
<p>Hello</p>"""


def read(live: Live, url: str, work: Callable[[LivePage], Awaitable[T]], *, sets_cookies: bool = False) -> T:
    async def course(window: PlaywrightWindow) -> T:
        async with live_page(window) as page:
            return await work(page)

    return live.run(url, course, sets_cookies=sets_cookies)


VALUES: list[tuple[str, Any]] = [
    ("window.app", {"cart": [{"id": 1}]}),
    ("() => app.cart.length", 1),
    ("async () => 2", 2),
    ("Promise.resolve('later')", "later"),
    ("undefined", None),
    ("null", None),
    ("({a: undefined, b: new Date(0)})", {"b": "1970-01-01T00:00:00.000Z"}),
    ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    ("-0", 0),
    ("12345678901234567890n", 12345678901234567890),
    ("'\\ud800 half'", "\N{REPLACEMENT CHARACTER} half"),
    ("({'\\ud800': ['\\udfff']})", {"\N{REPLACEMENT CHARACTER}": ["\N{REPLACEMENT CHARACTER}"]}),
    ("'\\u{1F600}'", "\N{GRINNING FACE}"),
    ("(() => {})()", None),
]
NO_VALUES = [
    ("app.basket.length", "it threw TypeError: Cannot read properties of undefined"),
    ("nope", "it threw ReferenceError: nope is not defined"),
    ("a b c", "it threw SyntaxError"),
    ("(() => { throw 'a text' })()", "it threw a text"),
    ("Promise.reject(new Error('later'))", "it threw Error: later"),
    ("document.body", "it is a node, which is not JSON"),
    ("new Map()", "it is a map, which is not JSON"),
    ("0 / 0", "it is NaN, which is not JSON"),
    ("Symbol('x')", "it is a symbol, which is not JSON"),
    ("(() => { const a = {}; a.a = a; return a })()", "nested more than 100 deep, or holds itself"),
    ("Array(3e6).fill(1)", "its JSON has more than 2000000 characters"),
    ("(() => { let a = []; for (let i = 0; i < 200; i++) a = [a]; return a })()", "more than 100 deep"),
]


def test_values_and_what_has_none(live: Live, site: Site) -> None:
    """Expressions give JSON whatever the page's policy of scripts; what has none says why."""
    site.pages["/"] = STRICT_PAGE

    async def work(page: LivePage) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for expression in [given for given, _ in VALUES + NO_VALUES]:
            try:
                seen[expression] = await page.value(expression)
            except NoValue as error:
                seen[expression] = error
        return seen

    seen = read(live, site.url, work)
    assert {expression: seen[expression] for expression, _ in VALUES} == dict(VALUES)
    for expression, reason in NO_VALUES:
        assert isinstance(seen[expression], NoValue), expression
        assert reason in str(seen[expression])


def test_endless_expressions_are_a_fault(live: Live, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression that never ends is a fault, and the page can be read afterwards."""
    site.pages["/"] = "<title>Alive</title>"

    async def work(page: LivePage) -> str:
        usual = observing.READ_LIMIT_S
        monkeypatch.setattr(observing, "READ_LIMIT_S", 0.5)
        for expression in ("(() => { for (;;); })()", "new Promise(() => {})"):
            with pytest.raises(Fault, match=r"the expression .* (did not answer|cannot be read)") as fault:
                await page.value(expression)
            assert fault.value.source is ErrorSource.GRADER
        monkeypatch.setattr(observing, "READ_LIMIT_S", usual)
        return await page.title()

    assert read(live, site.url, work) == "Alive"


TEXT_PAGE = """<!doctype html><title>Text</title>
<p>Thank&nbsp;you</p><p style="display:none">never shown</p><p style="visibility:hidden">not seen</p>
<input value="typed"><x-box>slotted</x-box><x-box style="display:none"></x-box>
<iframe srcdoc="<p>in a frame</p><x-box></x-box>"></iframe>
<iframe srcdoc="<p>in a hidden frame</p>" style="display:none"></iframe>
<iframe src="OTHER"></iframe>
<script>
customElements.define('x-box', class extends HTMLElement { connectedCallback() {
  this.attachShadow({mode: 'open'}).innerHTML =
    '<style>p { color: red }</style><p>in a shadow</p><slot></slot><p hidden>hidden in it</p>'; } });
Object.defineProperty(HTMLElement.prototype, 'innerText', {get() { return 'forged'; }});
</script>"""


def test_the_text_is_what_can_be_read(live: Live, serve: Callable[[], Site]) -> None:
    """Text is what a snapshot shows, in shadow trees, fields and frames too, and cannot be forged."""
    site, other = serve(), serve()
    site.pages["/"] = TEXT_PAGE.replace("OTHER", other.url)
    other.pages["/"] = "<p>of another origin</p>"
    text = read(live, site.url, lambda page: page.text())
    assert text["cut"] is False
    lines = [line.strip(" ") for line in str(text["value"]).split("\n")]
    for line in ("Thank\u00a0you", "typed", "slotted", "in a shadow", "in a frame", "of another origin"):
        assert lines.count(line) == 1, line
    rest = ("never shown", "not seen", "hidden", "forged", "color")
    for part in rest:
        assert part not in str(text["value"]), part


ROLE_PAGE = """<!doctype html><title>Roles</title><h1>Thank you</h1><h2>Thank you all</h2>
<button>Pay</button><button style="display:none">Pay</button><button style="visibility:hidden">Pay</button>
<button aria-label="Pay">now</button>
<iframe srcdoc="<button>Pay</button><h1>Thank you</h1>"></iframe>
<iframe srcdoc="<button>Pay</button>" style="display:none"></iframe>
<iframe src="OTHER"></iframe>"""


def test_roles_count_what_is_visible(live: Live, serve: Callable[[], Site]) -> None:
    """Visible elements of an exact name count, in frames of the same origin too."""
    site, other = serve(), serve()
    site.pages["/"] = ROLE_PAGE.replace("OTHER", other.url)
    other.pages["/"] = "<button>Pay</button>"

    async def work(page: LivePage) -> list[int]:
        wanted = [("button", "Pay"), ("button", "pay"), ("heading", "Thank you"), ("heading", None)]
        return [await page.count_role(role, name) for role, name in wanted]

    assert read(live, site.url, work) == [3, 0, 2, 3]


def stored(*places: str, homes: tuple[str, ...]) -> Callable[[LivePage], Awaitable[list[Any]]]:
    async def work(page: LivePage) -> list[Any]:
        seen: list[Any] = []
        for place in places:
            try:
                seen.append(await page.read_storage(place, homes))
            except NoValue as error:
                seen.append(str(error))
        return seen

    return work


STORING = """<script>
localStorage.cart = '[1]'; sessionStorage.step = '2'; localStorage.note = '\\ud800';
</script>"""


def test_storage_of_a_site_that_was_left(live: Live, serve: Callable[[], Site]) -> None:
    """Local storage is found where the agent has been; session storage is out of reach, and says so."""
    site, other = serve(), serve()
    site.pages["/"] = STORING + f"<script>location = '{other.url}'</script>"
    other.pages["/"] = "elsewhere"

    async def course(window: PlaywrightWindow) -> list[Any]:
        await window.page.wait_for_url(other.url + "/", timeout=60_000)
        async with live_page(window) as page:
            return await stored("local:cart", "local:none", "session:step", homes=(site.url,))(page)

    cart, none, step = live.run(site.url, course)
    assert (cart, none) == ("[1]", None)
    assert f"where the session storage of {site.url} is out of reach" in step


@pytest.mark.parametrize("dialog", ["alert('hi')", "confirm('sure?')", "prompt('name?')"])
def test_a_dialog_that_was_left_open_is_dismissed(live: Live, site: Site, dialog: str) -> None:
    """A dialog that the agent did not answer does not keep the page from being read."""
    site.pages["/"] = (
        f"<title>Dialog</title><script>setTimeout(() => {{ window.got = {dialog} ?? 0 }}, 50)</script>"
    )

    async def course(window: PlaywrightWindow) -> Any:
        while window.dialog is None:  # noqa: ASYNC110 whichever comes first, the dialog or we
            await asyncio.sleep(0.02)
        async with live_page(window) as page:
            return await page.title(), await page.value("window.got")

    title, got = live.run(site.url, course)
    assert title == "Dialog"
    assert got in (False, 0, None)


def test_a_crashed_page_is_a_fault(live: Live, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page whose process has died cannot be judged."""
    monkeypatch.setattr(observing, "READ_LIMIT_S", 0.5)
    site.pages["/"] = "fine"

    async def course(window: PlaywrightWindow) -> None:
        with pytest.raises(Error, match="crash"):
            await window.page.goto("chrome://crash", timeout=60_000)
        async with live_page(window) as page:
            await page.title()

    with pytest.raises(Fault) as fault:
        live.run(site.url, course)
    assert fault.value.source is ErrorSource.GRADER


def test_a_page_that_is_closed_while_it_is_read_is_a_fault(live: Live, site: Site) -> None:
    """Another page may be the window's by then; it is not the one that was to be judged."""
    site.pages["/"] = "fine"

    async def course(window: PlaywrightWindow) -> None:
        first = window.page
        async with live_page(window) as page:
            await window.open_tab()
            await first.close()
            await page.title()

    with pytest.raises(Fault, match=r"title.*closed") as fault:
        live.run(site.url, course)
    assert fault.value.source is ErrorSource.GRADER


def test_an_agent_that_closes_its_last_page_is_judged(live: Live, site: Site) -> None:
    """By an empty page: it could leave the pass rate by closing pages otherwise."""
    site.pages["/"] = "<title>Shop</title>"

    async def course(window: PlaywrightWindow) -> tuple[str, str, tuple[str, ...]]:
        await window.page.close()
        async with live_page(window) as page:
            return await page.title(), window.url, window.warnings

    title, url, warnings = live.run(site.url, course)
    assert (title, url) == ("", "about:blank")
    assert warnings == ("The agent's last page was closed; an empty one was opened for the graders.",)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((404, "text/plain", "no"), "answers with status 404, not 200"),
        ((302, "text/plain", "moved"), "answers with status 302, not 200"),
        ((200, "text/html", "<p>"), '"<p>" is not JSON'),
        ((200, "text/plain", "NaN"), "a number of the value is not finite"),
        ((200, "text/plain", "[1e999]"), "a number of the value is not finite"),
        ((200, "text/plain", "[" * 5_000), "is not JSON"),
        ((200, "text/plain", "[" * 200 + "]" * 200), "nested more than 100 deep"),
        ((200, "text/plain", '"' + "x" * 2_000_000 + '"'), "answers with more than 2000000 bytes"),
    ],
)
def test_what_is_no_state(live: Live, site: Site, answer: tuple[int, str, str], reason: str) -> None:
    """Anything but JSON of a sensible size is no state, and the reason says what came instead."""
    site.pages["/state"] = answer
    with pytest.raises(NoValue, match=re.escape(reason)):
        live.runner.run(fetch_json(site.url + "/state", {}))


def test_a_reading_that_breaks_is_tried_again(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the page is as it is to be; where the last one breaks that is a fault."""
    monkeypatch.setattr(observing, "POLL_S", 0.01)
    seen: list[str | Fault] = ["bad", Fault(ErrorSource.GRADER, "navigating"), "good", "later"]

    async def look() -> str:
        one = seen.pop(0)
        if isinstance(one, Fault):
            raise one
        return one

    assert live.runner.run(wait_until_final(look, "good".__eq__, 30)) == "good"
    seen.insert(0, Fault(ErrorSource.GRADER, "gone"))
    with pytest.raises(Fault, match="gone"):
        live.runner.run(wait_until_final(look, "good".__eq__, 0))
