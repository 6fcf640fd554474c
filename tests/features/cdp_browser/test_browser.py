"""A browser that runs already: attached to, used, and left as it was."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from pydantic import ValidationError

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.waiting import DialogOpened
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, StopRun
from pytest_browsereval.features.cdp_browser.browser import CdpBrowser, CdpBrowserConfig
from tests.browsers.listening import Listening, listening, outside, relayed
from tests.support import PageServer, Run, until

LOOP = "<button onclick='for(;;);'>loop</button>"
ALERTS = "<button onclick='for(;;) alert(1)'>alerts</button>"
LEAVE = "<button onclick='onbeforeunload = (e) => { e.preventDefault(); return 1 }'>hold</button>"
NO_CONTEXTS = "Target.createBrowserContext"
TOKEN = "?token=Sesame-open-42"
PATIENT: dict[str, Any] = {"action_timeout_ms": 20_000, "connect_timeout_ms": 60_000}
"""What a busy machine may need."""


@contextmanager
def attached(run: Run, url: str, **options: Any) -> Iterator[CdpBrowser]:
    """Attach to a browser."""
    browser = CdpBrowserConfig(url=url, **{**PATIENT, **options}).build()
    try:
        run(browser.start())
        yield browser
    finally:
        run(browser.close())


# -- the config


def test_a_wrong_config_is_refused(subtests: pytest.Subtests) -> None:
    """Addresses that are none, options of a launch, and what a shared context cannot have are errors."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "Field required"),
        ({"url": "9333"}, r"'9333' is not the address of a browser\. Write one such as http://127"),
        ({"url": "http://host:99999"}, "is not the address of a browser"),
        ({"url": "http://h:1", "headless": False}, "headless: only a browser that this run launches"),
        ({"url": "http://h:1", "binary": "x", "args": []}, "binary, args: only a browser that this run"),
        (
            {"url": "http://h:1", "sessions": "shared", "context": {"locale": "de"}},
            "context.locale cannot be set in an existing context",
        ),
        ({"url": "http://h:1", "allowed_origins": ["a.test"]}, "at http://h:1 does not reach this machine's"),
        ({"url": "http://h:1", "context": {"timezone_id": "Nowhere"}}, "is not a time zone"),
    ]
    for options, message in cases:
        with subtests.test(options=options, message=message), pytest.raises(ValidationError, match=message):
            CdpBrowserConfig.model_validate({"type": "cdp", **options})


def test_a_headed_run_needs_a_browser_of_its_own(tmp_path: Path) -> None:
    """--eval-headed sets a key, which is refused by its name."""
    file = tmp_path / "shop.yaml"
    file.write_text(
        "agent: scripted\ndataset: rows.jsonl\nbrowser: {type: cdp, url: 'http://127.0.0.1:9222'}\n"
    )
    with pytest.raises(ConfigError, match=r"headless: only a browser .*; --eval-headed sets headless"):
        load_config(file, registry=builtin_registry(), overrides=("browser.headless=false",), environ={})


def test_what_lets_anybody_in_is_secret() -> None:
    """User, password, values of the query and the browser's own id are; short values would spoil texts."""
    config = CdpBrowserConfig(
        url="wss://anna:pass%2Fword@far.test:1/devtools/0123456789abcdef?token=Sesame1&n=1"
    )
    assert set(config.secrets()) == {"pass%2Fword", "pass/word", "0123456789abcdef", "Sesame1"}
    assert str(config.endpoint) == "wss://far.test:1"


# -- before a run


@pytest.mark.slow
def test_an_address_where_nothing_listens_is_told_with_what_to_type() -> None:
    """Both kinds of addresses are asked, and no secret of them is in the message."""
    for url, why in (
        ("http://127.0.0.1:9/", "cannot be reached: ConnectError"),
        (f"ws://127.0.0.1:9/{TOKEN}", "cannot be attached to: .*ECONNREFUSED"),
    ):
        with pytest.raises(ConfigError, match=rf"127\.0\.0\.1:9 \(browser\.url\) {why}") as caught:
            asyncio.run(CdpBrowserConfig(url=url).survey())
        assert "chromium --remote-debugging-port=9222" in str(caught.value)
        assert "Sesame" not in str(caught.value)


def test_a_web_server_is_no_browser(pages: PageServer) -> None:
    """It is told by its status and what it says."""
    config = CdpBrowserConfig(url=f"{pages.url}/sub{TOKEN}")
    with pytest.raises(
        ConfigError, match=r"not a DevTools endpoint: /json/version answered .*: HTTP 404, .*Nothing here"
    ):
        asyncio.run(config.survey())
    pages.page("/sub/json/version/", '{"Browser": "none"}', media_type="application/json")
    with pytest.raises(ConfigError, match=r"without webSocketDebuggerUrl: HTTP 200, '\{.Browser"):
        asyncio.run(config.survey())
    pages.page("/sub/json/version/", "late", delay_s=20)
    with pytest.raises(ConfigError, match=r"did not answer within 0\.2 s"):
        asyncio.run(config.model_copy(update={"connect_timeout_ms": 200}).survey())


@pytest.mark.slow
def test_a_browser_says_whether_it_gives_contexts(chromium: Listening) -> None:
    """With contexts of their own attempts run at once, without them one by one, which is noted."""
    survey = asyncio.run(CdpBrowserConfig(url=chromium.socket_url, **PATIENT).survey())
    assert (survey.max_windows, survey.notes) == (None, ())
    assert "sessions: shared" in (survey.no_cdp or "")
    with relayed(chromium.port, refuses=NO_CONTEXTS) as relay:
        survey = asyncio.run(CdpBrowserConfig(url=relay.url, **PATIENT).survey())
        assert (survey.max_windows, survey.no_cdp) == (1, None)
        assert f"the browser at {relay.url} gives attempts no context of their own" in survey.notes[0]
        assert "wasn't found" in survey.notes[0]
        for options, why in (
            ({"sessions": "isolated"}, "and sessions is 'isolated'"),
            (
                {"context": {"locale": "de-DE"}, "allowed_origins": ["a.test"]},
                "context.locale, allowed_origins cannot be set",
            ),
        ):
            with pytest.raises(ConfigError, match=why):
                asyncio.run(CdpBrowserConfig(url=relay.url, **PATIENT, **options).survey())


# -- windows


@pytest.mark.slow
def test_attempts_have_contexts_of_their_own(run: Run, chromium: Listening, pages: PageServer) -> None:
    """Options hold, cookies are apart, and of it all nothing is left in the browser."""
    url = pages.page("/start", "<title>Start</title>")

    async def work(browser: CdpBrowser) -> None:
        assert browser.description.endswith(f"(cdp: {chromium.url})")
        first, second = [await browser.open_window(WindowRequest(key, url)) for key in "ab"]
        await first.page.evaluate("document.cookie = 'who=first'")
        assert await second.page.evaluate("document.cookie") == ""
        assert await second.page.evaluate("[innerWidth, navigator.language]") == [500, "de-DE"]
        assert first.viewport == (500, 400)
        assert await first.screenshot()
        await first.close()
        with pytest.raises(Fault, match="sessions: shared") as caught:
            await browser.open_window(WindowRequest("c", url, wants_cdp=True))
        assert caught.value.source is ErrorSource.WINDOW_CREATION

    with attached(
        run, chromium.url, context={"viewport": {"width": 500, "height": 400}, "locale": "de-DE"}
    ) as browser:
        run(work(browser))
    chromium.assert_left_alone()


@pytest.mark.slow
def test_in_a_shared_context_only_our_pages_are_ours(
    run: Run, chromium: Listening, pages: PageServer
) -> None:
    """Pop-ups of our pages are tabs; pages and dialogs of others are neither seen nor closed."""
    pages.page("/popup", "<title>Popup</title>")
    url = pages.page(
        "/start",
        "<title>Start</title><a target=_blank href=/popup>popup</a>"
        "<button onclick=\"window.open('/popup'); window.open('data:text/html,never'); close()\">b",
    )

    async def work(browser: CdpBrowser) -> None:
        window = await browser.open_window(WindowRequest("a", url))
        assert await window.page.evaluate("[innerWidth, innerHeight]") == [1280, 720]
        before = chromium.pages_by_id()
        await outside(
            chromium.url,
            "other = await context.new_page()",
            "await other.evaluate('setTimeout(() => alert(1))')",
            "assert len(context.pages) == 3",
        )
        others.extend(chromium.pages_by_id().keys() - before.keys())
        assert [tab.title for tab in await window.tabs()] == ["Start"]
        assert window.dialog is None
        await window.watch(window.page.click("a"), 60)
        await window.settle()
        assert [(tab.title, tab.is_current) for tab in await window.tabs()] == [
            ("Start", False),
            ("Popup", True),
        ]
        assert window.viewport == (1280, 720)
        await window.select_tab(1)
        await window.page.click("button", no_wait_after=True)
        await until(lambda: len(chromium.pages()) >= 4)
        await window.close()
        assert window.dead is None

    async def again(browser: CdpBrowser) -> None:
        window = await browser.open_window(WindowRequest("b", url))
        assert [tab.title for tab in await window.tabs()] == ["Start"]
        await window.close()

    others: list[str] = []
    with attached(run, chromium.url, sessions="shared") as browser:
        run(work(browser))
        run(again(browser))
    (other,) = others
    assert chromium.pages_by_id().get(other) == "about:blank"
    chromium.close_page(other)
    chromium.assert_left_alone()


@pytest.mark.slow
@pytest.mark.parametrize("body", [LOOP, ALERTS, LEAVE], ids=["loop", "alerts", "beforeunload"])
def test_a_shared_window_closes_whatever_its_page_does(
    run: Run, chromium: Listening, pages: PageServer, body: str
) -> None:
    """Endless loops, dialogs without end and a page that wants to stay leave no tab behind."""
    url = pages.page("/start", body)

    async def work(browser: CdpBrowser) -> None:
        window = await browser.open_window(WindowRequest("a", url))
        with contextlib.suppress(DialogOpened, TimeoutError):
            await window.watch(window.page.click("button"), 0.5)
        await asyncio.wait_for(window.close(), 60)
        await window.close()
        await until(lambda: chromium.pages() == ["about:blank"])
        assert window.dead is None

    with attached(run, chromium.url, sessions="shared") as browser:
        run(work(browser))


@pytest.mark.slow
def test_a_program_works_in_the_shared_context(run: Run, chromium: Listening, pages: PageServer) -> None:
    """What it does in tabs that were there, in ours and in new ones is seen; those that were there stay."""
    url = pages.page("/start", "<title>Start</title>")
    second = pages.page("/second", "<title>Second</title>")

    async def work(browser: CdpBrowser) -> None:
        window = await browser.open_window(WindowRequest("a", url, wants_cdp=True))
        assert window.cdp_url == chromium.url
        assert window.url == url
        await outside(
            window.cdp_url,
            "blank = next(page for page in context.pages if page.url == 'about:blank')",
            "await blank.evaluate('document.title = \"Seen\"')",
            f"await (await context.new_page()).goto({second!r})",
        )
        assert [tab.title for tab in await window.tabs()] == ["Seen", "Start", "Second"]
        assert window.url == second
        await window.close()

    with attached(run, chromium.url, sessions="shared") as browser:
        run(work(browser))
    chromium.assert_left_alone()


# -- an endpoint that goes


@pytest.mark.slow
def test_a_lost_connection_is_made_again_once(run: Run, chromium: Listening, pages: PageServer) -> None:
    """Windows say that it was lost, the next one has a new connection, and without one the run stops."""
    url = pages.page("/start", "<title>Start</title>")

    async def work(browser: CdpBrowser) -> None:
        window = await browser.open_window(WindowRequest("a", url))
        relay.drop()
        await until(lambda: window.dead == f"The connection to the browser at {relay.url} was lost.")
        again = await browser.open_window(WindowRequest("b", url))
        assert await again.page.title() == "Start"
        relay.close()
        await until(lambda: again.dead)
        with pytest.raises(StopRun, match="cannot be reached: ConnectError"):
            await browser.open_window(WindowRequest("c", url))
        await again.close()

    with relayed(chromium.port) as relay, attached(run, relay.url) as browser:
        run(asyncio.wait_for(work(browser), 120))


def test_an_endpoint_that_hangs_holds_nobody(run: Run, chromium: Listening) -> None:
    """A browser that answers no more is given up within its limit, and closing returns."""
    with relayed(chromium.port) as relay:
        relay.hang()
        with pytest.raises(ConfigError, match=r"did not answer within 0\.5 s"):
            asyncio.run(CdpBrowserConfig(url=relay.url, connect_timeout_ms=500).survey())


@pytest.mark.slow
def test_pictures_of_a_dense_screen_are_in_css_pixels(run: Run, pages: PageServer) -> None:
    """The browser was started at a scale of 2: a point of a picture is a point of the page, zoomed in too."""
    style = "position:fixed;left:600px;top:300px;width:80px;height:80px;background:lime"
    url = pages.page("/dense", f"<body style='height:3000px;background:black'><div style='{style}'></div>")

    async def green(window: PlaywrightWindow) -> tuple[tuple[int, int], tuple[int, int, int, int] | None]:
        image = Image.open(io.BytesIO(await window.screenshot("png"))).convert("RGB")
        red, lit, _ = image.split()  # white scroll bars are not meant
        return image.size, ImageChops.subtract(lit, red).point(
            [255 * (n > 128) for n in range(256)]
        ).getbbox()

    async def work(browser: CdpBrowser) -> None:
        window = await browser.open_window(WindowRequest("row", url))
        await window.page.evaluate("scrollTo(0, 500)")
        for _ in ("asked twice", "known"):
            assert await green(window) == ((1280, 720), (600, 300, 680, 380))
        session = await window.context.new_cdp_session(window.page)
        await session.send("Emulation.setPageScaleFactor", {"pageScaleFactor": 1.5})
        seen = "[visualViewport.scale, visualViewport.offsetLeft, visualViewport.offsetTop]"
        scale, left, top = await window.page.evaluate(seen)
        size, box = await green(window)
        assert (scale, size) == (1.5, (1280, 720))
        zoomed = [(at - off) * scale for at, off in zip((600, 300, 680, 380), (left, top) * 2, strict=True)]
        assert box == pytest.approx(zoomed, abs=1)
        await window.close()

    with listening("--force-device-scale-factor=2") as dense, attached(run, dense.url) as browser:
        run(work(browser))
