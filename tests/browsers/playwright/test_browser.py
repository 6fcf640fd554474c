from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.place import WindowRules
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault
from tests.support import PageServer, Run, Visit, configured, has_ended, running, until, visiting

pytestmark = pytest.mark.quick


def chromiums() -> set[int]:
    """Return the browser processes that this process has started, without wrappers and children."""
    found: dict[int, int] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            line, parent = process.cmdline(), process.ppid()
        except psutil.Error:
            continue
        is_script = bool(line) and Path(line[0]).name in ("sh", "bash", "dash")
        if "--remote-debugging-pipe" in line and not is_script and not any(map(is_type, line)):
            found[process.pid] = parent
    # A child that has been forked and not yet executed has the browser's own command line.
    return {pid for pid, parent in found.items() if parent not in found}


def is_type(word: str) -> bool:
    return word.startswith("--type=")


async def until_gone(pid: int) -> None:
    await until(lambda: has_ended(pid))


# -- the config


def test_a_wrong_config_is_refused(subtests: pytest.Subtests) -> None:
    """Unknown keys, impossible sizes, time zones and patterns that are none: else no window would open."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"allowed_origins": ["https://shop.example/cart"]}, "is not a pattern of origins"),
        ({"allowed_origins": ["{shop}"]}, "The origin that a row starts at is always allowed"),
        ({"allowed_origins": ["http://{shop}:*"]}, "is not a pattern of origins"),
        ({"action_timeout_ms": 0}, "greater than 0"),
        ({"headles": True}, "Extra inputs"),
    ]
    for options, message in cases:
        with subtests.test(options=options, message=message), pytest.raises(ValidationError, match=message):
            PlaywrightBrowserConfig.model_validate({"type": "playwright", **options})


def test_what_lets_anybody_in_is_secret() -> None:
    """Passwords, keys in headers and the header of basic auth; short words would spoil texts."""
    user = {"username": "ada", "password": "bud7", "origin": "https://shop.example"}
    headers = {"X-Api-Key": "Bearer Sesame1", "Cookie": "a=b c", "Accept": "text/html"}
    context = {"http_credentials": user, "extra_http_headers": headers}
    config = PlaywrightBrowserConfig(allowed_origins=("shop.example",), context=context)
    assert set(config.secrets()) == {"bud7", "YWRhOmJ1ZDc=", "Bearer Sesame1", "Sesame1"}
    proxy = {"server": "http://p:1", "username": "ada", "password": "ab"}
    assert PlaywrightBrowserConfig(context={"proxy": proxy}).secrets() == ()


def test_paths_are_those_of_the_configs_folder(tmp_path: Path) -> None:
    """The file of stored state is looked for beside the config, before anything is launched."""
    (tmp_path / "state.json").write_text("{}")
    config = PlaywrightBrowserConfig(context={"storage_state": "state.json"})
    assert config.prepare(tmp_path).context["storage_state"] == str(tmp_path / "state.json")
    with pytest.raises(
        ConfigError, match=r"storage_state is 'state\.json', but there is no file .*elsewhere"
    ):
        config.prepare(tmp_path / "elsewhere")
    for text, message in (
        ("{", "Expecting property name"),
        ("[]", "the file: Input should be"),
        ('{"cookies": [{"name": "s3cr3t", "value": 5}]}', r"cookies\.0\.value: Input should be a valid"),
        ('{"origins": "s3cr3t"}', "origins: Input should be a valid list"),
    ):
        (tmp_path / "state.json").write_text(text)
        with pytest.raises(ConfigError, match=message) as caught:
            config.prepare(tmp_path)
        assert "s3cr3t" not in str(caught.value)
    plain = PlaywrightBrowserConfig()
    assert plain.prepare(tmp_path) is plain
    with pytest.raises(ConfigError, match="'/no/such/browser'"):
        PlaywrightBrowserConfig(binary="/no/such/browser").prepare(tmp_path)


# -- start, description, end


def test_a_browser_runs_from_start_to_close(run: Run) -> None:
    """It says what it is, and leaves no process."""
    browser = PlaywrightBrowserConfig().build()
    before = chromiums()
    assert browser.description == ""

    async def live() -> None:
        await browser.start()
        await browser.start()
        await browser.open_window(WindowRequest("left open"))
        (pid,) = chromiums() - before
        assert "Chrom" in browser.description
        assert any(part.isdigit() for part in browser.description.replace(".", " ").split())
        await browser.close()
        await browser.close()
        await until_gone(pid)

    run(live())
    run(until(lambda: chromiums() <= before))


def test_a_program_that_is_no_browser_is_told_with_its_reason(run: Run, tmp_path: Path) -> None:
    """The fault is the browser's, no driver is left behind."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'error while loading shared libraries: libfoo.so' >&2\nexit 127\n")
    program.chmod(0o755)
    children = {child.pid for child in psutil.Process().children()}
    with pytest.raises(Fault, match="libfoo") as caught:
        run(PlaywrightBrowserConfig(binary=str(program)).build().start())
    assert caught.value.source is ErrorSource.BROWSER
    run(until(lambda: {child.pid for child in psutil.Process().children()} <= children))


# -- windows


def test_a_window_is_as_the_config_says(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Size, scale, language, time zone and stored state are those of the config."""
    url = pages.page("/state", "state")
    state = tmp_path / "state.json"
    stored = [{"origin": pages.url, "localStorage": [{"name": "who", "value": "Ann"}]}]
    state.write_text(json.dumps({"cookies": [], "origins": stored}))
    options: dict[str, Any] = {
        "viewport": {"width": 500, "height": 400},
        "device_scale_factor": 3,
        "locale": "de-DE",
        "timezone_id": "Asia/Tokyo",
        "storage_state": str(state),
    }
    script = """[innerWidth, innerHeight, devicePixelRatio, navigator.language,
                 Intl.DateTimeFormat().resolvedOptions().timeZone, localStorage.who]"""
    with configured(browser, context=options):
        window = run(browser.open_window(WindowRequest("state", url)))
        seen = run(window.page.evaluate(script))
        run(window.close())
    assert seen == [500, 400, 3, "de-DE", "Asia/Tokyo", "Ann"]


def test_a_window_that_cannot_be_made_is_a_fault_of_its_own(
    run: Run, browser: PlaywrightBrowser, tmp_path: Path
) -> None:
    """A missing file of stored state, say: no window is open afterwards, the browser lives on."""
    connection = browser._connections[-1]
    contexts = len(connection.browser.contexts)
    with configured(browser, context={"storage_state": str(tmp_path / "missing.json")}):
        with pytest.raises(Fault, match=r"missing\.json") as caught:
            run(browser.open_window(WindowRequest("no state")))
        assert caught.value.source is ErrorSource.WINDOW_CREATION
        assert (connection.is_alive, browser._connections[-1]) == (True, connection)
        assert len(connection.browser.contexts) == contexts


def test_a_start_page_that_cannot_be_opened_is_no_fault_of_the_agent(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, subtests: pytest.Subtests
) -> None:
    """Refused connections, unknown hosts, other addresses, each status from 400 on, the site's from 500."""
    site, cases = ErrorSource.SITE, dict[str, str]()
    for status in (404, 500, 503):
        cases[pages.page(f"/{status}", "sorry", status=status)] = f"HTTP {status}"
    cases |= {
        "http://127.0.0.1:9/": "ERR_",
        "http://no-such-host.invalid/": "ERR_",
        "file:///etc/hostname": "Serve files with a site",
        "javascript:alert(1)": "Allowed: http, https, about, data",
        "shop/index.html": "'shop/index.html'",
    }
    for url, message in cases.items():
        with subtests.test(url=url):
            with pytest.raises(Fault, match=message) as caught:
                run(browser.open_window(WindowRequest("start", url)))
            assert caught.value.source is (site if "HTTP 50" in message else ErrorSource.NAVIGATION)
            assert url in str(caught.value)


def test_a_start_page_that_does_not_answer_is_a_fault(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """The limit of navigations holds for the start page too."""
    url = pages.page("/sleepy", "late", delay_s=20)
    contexts = len(browser._connections[-1].browser.contexts)
    with configured(browser, navigation_timeout_ms=200):
        with pytest.raises(Fault, match="200ms") as caught:
            run(browser.open_window(WindowRequest("start", url)))
        assert caught.value.source is ErrorSource.NAVIGATION
        run(until(lambda: len(browser._connections[-1].browser.contexts) == contexts))


def test_a_start_page_may_open_with_a_dialog(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> None:
    """The window opens all the same, and the dialog is the agent's to answer."""
    url = pages.page("/hello", "<script>alert('hello')</script><title>Hello</title>")

    async def open_and_answer() -> None:
        window = await browser.open_window(WindowRequest("dialog", url))
        assert window.dialog is not None
        assert window.dialog.message == "hello"
        await window.answer_dialog(accept=True)
        assert await window.page.title() == "Hello"
        await window.close()

    run(open_and_answer())


def test_a_setup_script_has_run_when_the_window_is_open(
    run: Run, browser: PlaywrightBrowser, pages: PageServer
) -> None:
    """It runs in the start page, and a promise that it returns is awaited."""
    url = pages.page("/setup", "<title>Setup</title>")
    pages.page("/data", "stored", delay_s=0.1)
    script = "fetch('/data').then((answer) => answer.text()).then((text) => { localStorage.x = text })"

    async def open_window() -> str:
        window = await browser.open_window(WindowRequest("setup", url, script))
        try:
            return str(await window.page.evaluate("localStorage.x"))
        finally:
            await window.close()

    assert run(open_window()) == "stored"


class HurriedConfig(PlaywrightBrowserConfig):
    """Windows that wait for half a second, in which an empty page is there."""

    def rules(self, start_url: str | None) -> WindowRules:
        return replace(super().rules(start_url), navigation_s=0.2, load_s=0.3)


def test_a_setup_script_that_fails_or_never_ends_is_named(
    run: Run, browser: PlaywrightBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A promise that nobody keeps, a loop, an error: the script is why, and not the page."""
    with pytest.raises(Fault, match=r"setup_script of about:blank failed: .*nothing is not defined"):
        run(browser.open_window(WindowRequest("setup", None, "nothing.at.all()")))
    monkeypatch.setattr(browser, "config", HurriedConfig(**browser.config.model_dump()))
    for script in ("new Promise(() => {})", "for (;;);"):
        with pytest.raises(
            Fault, match=r"^The setup_script of about:blank did not end within 0\.5 s\.$"
        ) as fault:
            run(browser.open_window(WindowRequest("setup", None, script)))
        assert fault.value.source is ErrorSource.NAVIGATION


# -- deaths


@pytest.mark.slow
def test_a_killed_browser_is_launched_again_once_for_all_lanes(run: Run, pages: PageServer) -> None:
    """Its windows say why they are dead, and the next windows share one new browser."""
    url = pages.page("/again", "<title>Again</title>")
    before = chromiums()

    async def kill(browser: PlaywrightBrowser) -> None:
        window = await browser.open_window(WindowRequest("first", url))
        (pid,) = chromiums() - before
        os.kill(pid, signal.SIGKILL)
        # Playwright reports the end of the window first, and that of the browser some time later.
        await until(lambda: (window.dead or "").startswith("The browser ended unexpectedly: "))
        with pytest.raises(Fault):
            await window.screenshot()
        opened = await asyncio.gather(
            *(browser.open_window(WindowRequest(f"lane {n}", url)) for n in range(3))
        )
        assert [await lane.page.title() for lane in opened] == ["Again"] * 3
        await until(lambda: len(chromiums() - before) == 1)
        await window.close()

    with running(PlaywrightBrowserConfig(), run) as browser:
        run(asyncio.wait_for(kill(browser), 120))
    run(until(lambda: chromiums() <= before))


@pytest.mark.slow
def test_a_killed_driver_is_replaced_too(run: Run, pages: PageServer, tmp_path: Path) -> None:
    """The call under way ends as a fault of the browser, and the next window has a new browser."""
    url = pages.page("/again", "<title>Again</title>")
    others = {child.pid for child in psutil.Process().children()}

    async def kill(opened: Visit, browser: PlaywrightBrowser) -> None:
        (driver,) = [child for child in psutil.Process().children() if child.pid not in others]
        waiting = asyncio.ensure_future(opened.tools.call("wait_for_text", {"text": "x", "timeout_s": 30}))
        await asyncio.sleep(0.05)  # it is under way, or begins when the driver has gone: all the same
        driver.kill()
        with pytest.raises(Fault, match="The browser or its driver ended unexpectedly") as caught:
            await waiting
        assert caught.value.source is ErrorSource.BROWSER
        assert opened.window.dead
        window = await browser.open_window(WindowRequest("after", url))
        assert await window.page.title() == "Again"

    with running(PlaywrightBrowserConfig(), run) as browser, visiting(run, browser, tmp_path, url) as opened:
        run(asyncio.wait_for(kill(opened, browser), 120))
