"""Traces of real windows, the consoles of a browser that is shared, and what is refused."""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.capture.recording import CONSOLE_FILE, TRACE_FILE, TraceMode
from pytest_browsereval.config.loading import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.cdp_browser.browser import CdpBrowserConfig
from pytest_browsereval.features.traces.recording import Recording
from pytest_browsereval.features.traces.trace import clean_trace
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.temporary import remove_own_folder
from tests.browsers.listening import Listening
from tests.features.cdp_browser.test_browser import PATIENT
from tests.features.traces.consoles import read_console
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer, Run, until

PASSWORD = 'pass"word-z4711'
PIXEL = bytes.fromhex(
    "47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b"
)
LOGIN = """globalThis.login = async () => {
  document.cookie = 'sid=cookie-z4711';
  const headers = {'content-type': 'application/json', authorization: 'Bearer t-z4711'};
  await (await fetch('/api/login', {method: 'POST', body: JSON.stringify({note: 'sent'}), headers})).json();
}"""


def redact(text: str) -> str:
    for spelling in list_spellings([PASSWORD]):
        text = text.replace(spelling, "***")
    return text


@pytest.fixture
def shop(pages: PageServer) -> str:
    """A page with a stylesheet, a picture and a form, behind a login."""
    cookie = {"Set-Cookie": "sid=cookie-z4711; Path=/"}
    pages.page("/login.js", LOGIN, media_type="text/javascript")
    pages.page("/shop.css", "p { color: teal } /* " + PASSWORD + " */", media_type="text/css")
    pages.page("/pixel.gif", PIXEL, media_type="image/gif")
    pages.page("/api/login", '{"token": "reply-z4711"}', media_type="application/json", headers=cookie)
    return pages.page(
        "/shop",
        "<!doctype html><link rel=stylesheet href=/shop.css><script src=/login.js></script>"
        "<img src=/pixel.gif><p>Shop<input id=key>"
        "<button onclick='this.textContent = \"sold\"'>Buy</button>",
        headers=cookie,
    )


async def bought(
    browser: Any, url: str, folder: Path, mode: TraceMode = "on", *, passed: bool = False
) -> Recording:
    """Use the shop in a window of its own while it is recorded."""
    async with Recording(folder, trace=mode, console=False, redact=redact) as recording:
        window = await browser.open_window(WindowRequest("row", url, opened=recording.begin))
        await window.page.evaluate("login()")
        await window.page.fill("#key", PASSWORD)
        await window.page.click("button")
        await recording.end()
        await window.page.evaluate("'looked at by a grader'")
        await window.close()
        recording.has_passed = passed
    return recording


def members(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(folder / TRACE_FILE) as trace:
        assert trace.testzip() is None
        return {name: trace.read(name) for name in trace.namelist()}


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Raw traces hold every cookie. They lie in a place of the test's own: others record meanwhile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        remove_own_folder()
        yield
        assert not list(Path(folder).rglob("trace-*"))


def test_a_trace_shows_the_attempt_and_no_login(run: Run, browser: Any, shop: str, tmp_path: Path) -> None:
    """From before the start page to the agent's end; what draws the page is in it, and nothing secret."""
    recording = run(bought(browser, shop, tmp_path))
    assert recording.warnings == []
    assert [file.name for file in tmp_path.iterdir()] == [TRACE_FILE]
    files = members(tmp_path)
    for name, data in files.items():
        assert b"z4711" not in data, name
    events = [json.loads(line) for line in files["trace.trace"].splitlines()]
    assert events[0]["type"] == "context-options"
    called = [event["method"] for event in events if event["type"] == "before"]
    assert ("goto" in called, "fill" in called, "click" in called) == (True, True, True)
    assert called.index("goto") < called.index("fill")
    assert "looked at by a grader" not in files["trace.trace"].decode()
    assert any(event["type"] == "frame-snapshot" for event in events)
    sent = [json.loads(line)["snapshot"] for line in files["trace.network"].splitlines()]
    assert {one["request"]["url"].rpartition("/")[2] for one in sent} >= {
        "shop",
        "shop.css",
        "pixel.gif",
        "login",
    }
    kept = {Path(name).suffix for name in files if name.startswith("resources/")}
    assert {".css", ".gif"} <= kept
    assert not {".html", ".js"} & kept
    assert not any(name.endswith(".stacks") for name in files)
    assert PIXEL in files.values()
    assert b'{"note":"sent"}' in files.values()


def test_a_trace_is_kept_by_the_verdict(run: Run, browser: Any, shop: str, tmp_path: Path) -> None:
    """Of attempts that passed only if all are wanted."""
    for mode, passed, is_kept in (
        ("retain-on-failure", True, False),
        ("retain-on-failure", False, True),
        ("on", True, True),
    ):
        folder = tmp_path / f"{mode}-{passed}"
        folder.mkdir()
        run(bought(browser, shop, folder, mode, passed=passed))  # type: ignore[arg-type]
        assert (folder / TRACE_FILE).is_file() is is_kept, mode


def test_without_a_place_for_it_there_is_no_trace(
    run: Run, browser: Any, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning says so, and the attempt goes on."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))
    (warning,) = run(bought(browser, shop, tmp_path)).warnings
    assert warning.startswith("no trace: ")
    assert list(tmp_path.iterdir()) == []


def test_a_start_page_that_fails_is_in_the_trace(
    run: Run, browser: Any, pages: PageServer, tmp_path: Path
) -> None:
    """The attempt breaks before there is a window, and that is what somebody wants to see."""

    async def course() -> None:
        async with Recording(tmp_path, trace="retain-on-failure", console=True, redact=str) as recording:
            await browser.open_window(WindowRequest("row", pages.url + "/gone", opened=recording.begin))

    with pytest.raises(Exception, match="404"):
        run(course())
    assert b"/gone" in members(tmp_path)["trace.network"]


@pytest.mark.slow
def test_a_browser_that_dies_leaves_a_warning(run: Run, pages: PageServer, tmp_path: Path) -> None:
    """No trace, and the attempt goes its way."""

    async def course() -> Recording:
        browser = PlaywrightBrowserConfig().build()
        await browser.start()
        try:
            async with Recording(tmp_path, trace="on", console=True, redact=str) as recording:
                window = await browser.open_window(WindowRequest("row", None, opened=recording.begin))
                chromium = window.context.browser
                assert chromium is not None
                session = await chromium.new_browser_cdp_session()
                with contextlib.suppress(Exception):  # it has gone
                    await session.send("Browser.crash")
                await recording.end()
                await window.close()
            return recording
        finally:
            await browser.close()

    (warning,) = run(course()).warnings
    assert warning.startswith("no trace: ")
    assert [file.name for file in tmp_path.iterdir()] == [CONSOLE_FILE]


def test_what_is_no_trace_leaves_nothing(tmp_path: Path) -> None:
    """A file that cannot be read is not half of one in the attempt's folder."""
    raw, target = tmp_path / "raw.zip", tmp_path / "attempt" / TRACE_FILE
    target.parent.mkdir()
    raw.write_bytes(b"PK no zip")
    with pytest.raises(zipfile.BadZipFile):
        clean_trace(raw, target, str)
    with zipfile.ZipFile(raw, "w") as trace:
        trace.writestr("trace.trace", b'{"type": "before"}\n{')
    with pytest.raises(ValueError, match="Expecting"):
        clean_trace(raw, target, str)
    clean_trace(tmp_path / "gone.zip", target, str)
    assert list(target.parent.iterdir()) == []


@pytest.mark.slow
def test_a_shared_browser_is_heard_but_not_traced(
    run: Run, chromium: Listening, shop: str, tmp_path: Path
) -> None:
    """Its other pages are not the attempt's; in contexts of their own attempts are traced."""

    async def course() -> None:
        own = CdpBrowserConfig(url=chromium.url, **PATIENT).build()
        await own.start()
        assert own.survey.no_trace is None
        await bought(own, shop, tmp_path)
        await own.close()
        shared = CdpBrowserConfig(url=chromium.url, sessions="shared", **PATIENT).build()
        await shared.start()
        assert "sessions: isolated" in str(shared.survey.no_trace)
        recording = Recording(tmp_path, trace="off", console=True, redact=str)
        window = await shared.open_window(WindowRequest("row", None, opened=recording.begin))
        other = await window.context.new_page()
        await other.evaluate("console.log('of somebody else')")
        await window.page.evaluate("console.log('ours')")
        await until(lambda: "ours" in [line.text for line in read_console(tmp_path)])
        await other.close()
        await window.close()
        await shared.close()

    run(course())
    assert members(tmp_path)
    assert "of somebody else" not in (tmp_path / CONSOLE_FILE).read_text()


@pytest.mark.slow
def test_what_a_browser_cannot_record_is_refused(chromium: Listening, tmp_path: Path) -> None:
    """Before anything is spent, with file, line and what to write."""
    shared = {"type": "cdp", "url": chromium.url, "sessions": "shared"}
    mcp = {"type": "mcp", "url": "http://127.0.0.1:9"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row("one")))
    registry = builtin_registry()
    for browser, key, value, remedy in (
        (shared, "har", True, "sessions: isolated"),
        (shared, "trace", "retain-on-failure", "sessions: isolated"),
        (mcp, "trace", "on", "Leave trace out"),
        (mcp, "console", True, "Leave console out"),
    ):
        path = tmp_path / "shop.eval.yaml"
        block = {"agent": "scripted", "dataset": "rows.jsonl", "browser": browser, "capture": {key: value}}
        path.write_text(yaml.safe_dump(block, sort_keys=False))
        config, store = load_config(path, registry=registry), RunStore(tmp_path / "run")
        run = ActiveRun(config=config, registry=registry, store=store, source=NewTrials)
        with pytest.raises(ConfigError, match=rf"shop.eval.yaml:\d+: capture.{key}: .*{remedy}"):
            run.trials.prepare()


@pytest.mark.slow
def test_a_run_records_what_its_config_says(pytester: pytest.Pytester, pages: PageServer) -> None:
    """Of each attempt its console and markup; a trace of the one that failed only."""
    url = pages.page("/said", "<script>console.error('hello')</script><button>go</button>")
    evals = Evals(pytester.path)
    click = [{"tool": "click", "target": "button"}, {"tool": "done", "answer": "right"}]
    evals.write_rows(
        row("good", start_url=url, solution=click),
        row("bad", start_url=url, solution=[*click[:1], {"tool": "done", "answer": "wrong"}]),
    )
    evals.write_config(
        browser="playwright", capture={"trace": "retain-on-failure", "console": True, "dom": True}
    )
    evals.run("shop.eval.yaml", "-q").assert_outcomes(passed=1, failed=1)
    found = {}
    for name in ("good", "bad"):
        folder = next((evals.run_folder() / "tasks").glob(f"{name}/*/*/attempt-1"))
        found[name] = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
        assert [line.text for line in read_console(folder)] == ["hello"]
        metadata = json.loads((folder / "metadata.json").read_text())
        assert metadata["warnings"] == []
    assert found["bad"] - found["good"] == {TRACE_FILE}
    assert {CONSOLE_FILE, "dom/001.html", "screenshots/001.jpeg"} <= found["good"]
