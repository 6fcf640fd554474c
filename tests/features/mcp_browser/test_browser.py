"""The browser behind an MCP server, against a real server in another process."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image
from pydantic import ValidationError

from pytest_browsereval.browsers.base import PictureFormat, WindowRequest
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault
from pytest_browsereval.features.conformance.browsers import BrowserConformance
from pytest_browsereval.features.mcp_browser import window as window_module
from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig
from pytest_browsereval.features.mcp_browser.window import OUTPUT_LENGTH, McpWindow, format_output
from pytest_browsereval.features.mcp_browser.wire import Answer
from tests.features.mcp_browser import odd
from tests.support import PageServer, Run, has_ended, pass_time, until


@contextmanager
def opened(run: Run, config: McpBrowserConfig, url: str | None = None) -> Iterator[McpWindow]:
    browser = config.build()
    run(browser.start())
    try:
        window = run(browser.open_window(WindowRequest("row", url)))
        try:
            yield window
        finally:
            run(window.close())
    finally:
        run(browser.close())


@pytest.fixture(scope="module")
def odd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with odd.served(tmp_path_factory.mktemp("odd")) as url:
        yield url


@pytest.fixture
def page(pages: PageServer) -> str:
    return pages.page("/", "<title>Shop</title><p>Three mugs left.")


def misbehave(run: Run, window: McpWindow, how: str) -> tuple[bool, str]:
    result = run(window.call_tool("misbehave", {"how": how}))
    return result.ok, result.output


def late(run: Run, window: McpWindow, how: str, after_s: float) -> tuple[bool, str]:
    """Misbehave until the limit of the call."""

    async def call() -> tuple[bool, str]:
        calling = asyncio.ensure_future(window.call_tool("misbehave", {"how": how}))
        await asyncio.sleep(0.1)
        pass_time(after_s)
        result = await calling
        return result.ok, result.output

    return run(call())


def no_server_is_left(run: Run) -> None:
    run(until(lambda: not odd.servers_of(psutil.Process())))


# -- a window


@pytest.mark.slow
def test_tools_and_pictures_come_from_the_server(run: Run, page: str, tmp_path: Path) -> None:
    """Survey, address, text, pictures in any format, long and failing answers, and the end of a process."""
    config = odd.over_stdio()
    survey = run(config.survey())
    assert survey.max_windows is None
    assert [tool.name for tool in survey.tools or ()] == ["go", "look", "draw", "leave", "send", "misbehave"]
    with opened(run, config, page) as window:
        assert window.url == page
        assert [(tab.url, tab.is_current) for tab in run(window.tabs())] == [(page, True)]
        assert window.snapshot_call == ("look", {})
        assert "Three mugs left." in run(window.call_tool("look", {})).output
        formats: tuple[PictureFormat, ...] = ("jpeg", "png", "webp")
        for picture in formats:
            data = run(window.screenshot(picture, 60))
            with Image.open(io.BytesIO(data)) as image:
                assert (image.format, image.size) == (picture.upper(), (120, 80))
        assert run(window.call_tool("draw", {"kind": "png"})).output == "drawn\n(1 picture left out)"
        assert misbehave(run, window, "fail") == (False, "x")
        assert misbehave(run, window, "refuse") == (False, "misbehave failed: no more pages today")
        assert not run(window.call_tool("no_such_tool", {})).ok
        is_ok, text = misbehave(run, window, "long")
        assert is_ok
        assert text == "x" * OUTPUT_LENGTH + "\n(cut: the text has 100000 characters)"
        told = json.loads(misbehave(run, window, "fork")[1])
        assert odd.servers_of(psutil.Process())
        assert window.dead is None
    no_server_is_left(run)
    run(until(lambda: has_ended(told["child"])))  # which the server had started in a session of its own


def test_each_attempt_has_a_process_and_a_folder_of_its_own(run: Run, page: str, tmp_path: Path) -> None:
    """``{folder}`` is another one for each process, and goes with it; one that ended unused is replaced."""
    config = odd.over_stdio(command=[*odd.PROGRAM, "stdio", "{folder}"])

    async def work() -> list[Path]:
        browser = config.build()
        await browser.start()
        (unused,) = odd.servers_of(psutil.Process())
        unused.kill()
        await until(lambda: browser._spare is None or browser._spare.gone)
        windows = await asyncio.gather(
            *(browser.open_window(WindowRequest(name, page)) for name in ("one", "two"))
        )
        folders = {Path(server.cmdline()[-1]) for server in odd.servers_of(psutil.Process())}
        assert len([folder for folder in folders if folder.is_dir()]) == 2
        for window in windows:
            await window.close()
            await window.close()
        await browser.close()
        return list(folders)

    folders = run(work())
    run(until(lambda: not any(folder.exists() for folder in folders)))


def test_a_server_that_dies_is_a_fault_with_its_last_words(
    run: Run, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window is dead: the call, a picture and further calls are faults, and closing is harmless."""
    with opened(run, odd.over_stdio(), page) as window:
        with pytest.raises(Fault, match=r"closed the connection.*the browser exploded") as caught:
            misbehave(run, window, "die")
        assert caught.value.source == ErrorSource.BROWSER
        assert "\x1b" not in str(caught.value)
        assert window.dead == str(caught.value)
        with pytest.raises(Fault) as caught:
            run(window.screenshot())
        assert caught.value.source == ErrorSource.SCREENSHOT
        with pytest.raises(Fault):
            run(window.call_tool("look", {}))


def test_a_call_that_hangs_ends_by_its_limit(run: Run, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is told, and the next call works."""
    monkeypatch.setattr(window_module, "ALIVE_S", 60.0)
    with opened(run, odd.over_stdio(call_timeout_s=60), page) as window:
        assert late(run, window, "hang", 60) == (False, "misbehave took longer than 60 s.")
        assert run(window.call_tool("look", {})).ok
        assert window.dead is None


@pytest.mark.slow
def test_a_server_that_hangs_is_a_fault(run: Run, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the browser that broke, not the agent that was wrong; its process ends nevertheless."""
    monkeypatch.setattr(window_module, "ALIVE_S", 0.5)
    with opened(run, odd.over_stdio(call_timeout_s=60), page) as window:
        with pytest.raises(Fault, match=r"took longer than 60 s\. Then the MCP server .*hangs") as caught:
            late(run, window, "freeze", 60)
        assert caught.value.source == ErrorSource.BROWSER
        assert "hangs" in (window.dead or "")
        with pytest.raises(Fault):
            run(window.call_tool("look", {}))
    no_server_is_left(run)


def test_an_answer_of_50_mb_is_refused_while_it_comes(run: Run, page: str, odd_url: str) -> None:
    """In little memory. Over HTTP it is left out; a program that prints it is given up."""
    with opened(run, odd.over_http(odd_url), page) as window:
        refused = "misbehave failed: the answer was larger than 16 MB and was left out"
        assert misbehave(run, window, "huge") == (False, refused)
        assert "Three mugs" in run(window.call_tool("look", {})).output
        assert window.dead is None
    with opened(run, odd.over_stdio(), page) as window:
        with pytest.raises(Fault, match="answered with more than 16 MB") as caught:
            misbehave(run, window, "huge")
        assert (caught.value.source, window.dead) == (ErrorSource.BROWSER, str(caught.value))
    no_server_is_left(run)


def test_over_http_one_attempt_at_a_time(run: Run, page: str, pages: PageServer, odd_url: str) -> None:
    """The browser is shared, and what one attempt could not close is told with the next one."""
    config = odd.over_http(odd_url)
    assert config.url == f"{odd_url}/mcp"
    survey = run(config.survey())
    assert survey.max_windows == 1
    assert "one at a time" in survey.notes[0]
    sticky = pages.page("/sticky", "<p>Stay!")

    async def work() -> list[tuple[str, tuple[str, ...]]]:
        browser = config.build()
        await browser.start()
        assert browser.survey == survey
        assert browser.description == f"odd 1.2 (MCP: {odd_url}/mcp)"
        manager = WindowManager(browser)
        seen = []
        for url in (sticky, page, page):
            window = await manager.create_window("row", url)
            seen.append((window.url, window.warnings))
            await manager.close_window("row")
        await browser.close()
        return seen

    told = "leave did not close the attempt before: the page asks whether it may be left"
    assert run(work()) == [(sticky, ()), (page, (told,)), (page, ())]
    assert run(odd.over_http(odd_url, sessions="isolated").survey()).max_windows is None


def test_the_start_page_has_to_open(run: Run, pages: PageServer) -> None:
    """An error that the navigation tool answers with is never ignored, and nothing is left open."""
    pages.page("/late", "late", delay_s=20)
    for path, limit_s, told in (("/nowhere", 60, "404"), ("/late", 1, "not opened within 1 s")):
        browser = odd.over_stdio(call_timeout_s=limit_s).build()
        run(browser.start())
        with pytest.raises(Fault, match=told) as caught:
            run(browser.open_window(WindowRequest("row", pages.url + path)))
        assert caught.value.source == ErrorSource.NAVIGATION
        run(browser.close())
    no_server_is_left(run)


HOLDER = """
import asyncio, sys
from pytest_browsereval.browsers.base import WindowRequest
from tests.features.mcp_browser import odd

async def main():
    browser = odd.over_stdio(command=[*odd.PROGRAM, "stdio", "{folder}"]).build()
    await browser.start()
    await browser.open_window(WindowRequest("row", None))
    print("open", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.slow
def test_nothing_is_left_when_pytest_is_killed(run: Run) -> None:
    """The server's process ends with the one that has started it, whatever ends that."""
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", HOLDER], cwd=root, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"open\n"
        servers = odd.servers_of(psutil.Process(holder.pid))
        folders = [Path(server.cmdline()[-1]) for server in servers]
        assert folders
        assert all(folder.is_dir() for folder in folders)
        holder.send_signal(signal.SIGKILL)
    run(until(lambda: all(has_ended(server.pid) for server in servers)))
    run(until(lambda: not any(folder.exists() for folder in folders)))


# -- before the run


REFUSALS = {
    403: ("Access is only allowed at localhost", r"HTTP status 403 Forbidden: Access is.*`localhost` only"),
    401: ("who are you?", r"HTTP status 401 Unauthorized: who are you\?.*Bearer"),
    200: ("<h1>A web site</h1>", r"HTTP status 200 OK: <h1>A web site</h1>.*path of its MCP endpoint"),
}


def test_a_refusal_is_told_with_status_and_body(
    run: Run, pages: PageServer, subtests: pytest.Subtests
) -> None:
    """The SDK hides both; the message has them, and what to try. So it is where nobody listens."""
    for status, (body, told) in REFUSALS.items():
        pages.page(f"/{status}/mcp", body, status=status)
        config = odd.over_http(f"{pages.url}/{status}/mcp")
        with subtests.test(status=status):
            with pytest.raises(ConfigError, match=told):
                run(config.survey())
            with pytest.raises(Fault, match=told.partition(".*")[0]) as caught:
                run(config.build().start())
            assert caught.value.source == ErrorSource.BROWSER
    with pytest.raises(ConfigError, match=r"http://127\.0\.0\.1:9/mcp cannot be reached"):
        run(odd.over_http("http://127.0.0.1:9").survey())


NO_SERVERS = [
    ("import sys; sys.exit('no such browser')", 60, "Its last output: no such browser"),
    ("print('Welcome!'); import sys; sys.stdin.read()", 1, "did not answer within 1 s"),
    ("print('Welcome!'); print('{}'); import os; os.close(1)", 60, "closed the connection"),
]


def test_a_program_that_is_no_server_is_told(run: Run, subtests: pytest.Subtests) -> None:
    """One that ends, is silent or closes its output: refused before anything is spent."""
    for code, limit_s, told in NO_SERVERS:
        config = odd.over_stdio(command=[sys.executable, "-c", code], connect_timeout_s=limit_s)
        with subtests.test(told=told), pytest.raises(ConfigError, match=told):
            run(config.survey())
    codes = {code for code, _, _ in NO_SERVERS}
    run(until(lambda: not any(codes & {*line} for line in odd.below(psutil.Process()).values())))


def test_a_wrong_block_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each with what is allowed."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "give one of `url"),
        ({"url": "http://a/mcp", "command": ["b"]}, "give one of `url"),
        ({"url": "ftp://a"}, "not the URL of a server"),
        ({"url": "http://me:word@a/"}, "must not contain a password"),
        ({"command": ["b"], "sessions": "isolated"}, "sessions goes with a url"),
        ({"url": "http://a", "tools": {"pages": {"tool": "a", "pattern": "("}}}, "not a regular expression"),
    ]
    for block, told in cases:
        with subtests.test(block=block, told=told):
            with pytest.raises(ValidationError) as caught:
                McpBrowserConfig.model_validate(block)
            assert told in str(caught.value)
    # Missing programs and folders, before one would be started.
    with pytest.raises(ConfigError, match="'no-such-program', which is not a program"):
        McpBrowserConfig(command=("no-such-program",)).prepare(tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        McpBrowserConfig(command=(sys.executable,), cwd=Path("nowhere")).prepare(tmp_path)


def test_secrets_are_not_told(run: Run, pages: PageServer) -> None:
    """Not in the block's JSON, not by a server that repeats them, not in the command of a message."""
    pages.page("/echo/mcp", "bad token sesame-opens", status=403)
    config = odd.over_http(f"{pages.url}/echo/mcp?key=abc", headers={"Authorization": "Bearer sesame-opens"})
    assert {"Bearer sesame-opens", "sesame-opens", "key=abc"} == set(config.secrets())
    assert "sesame" not in config.model_dump_json()
    with pytest.raises(ConfigError, match=r"403 Forbidden: bad token \*\*\*") as caught:
        run(config.survey())
    assert "abc" not in str(caught.value)
    told = McpBrowserConfig(command=("run", "--api-key", "abc", "--token=def", "--port", "1")).label()
    assert told == "run --api-key *** --token=*** --port 1"


class TestOverHttp(BrowserConformance):
    """The suite for every browser."""

    @pytest.fixture
    def config(self, odd_url: str) -> McpBrowserConfig:
        return odd.over_http(odd_url, call_timeout_s=60)


def test_a_snapshot_that_is_cut_keeps_its_dialog() -> None:
    """One of Playwright's kind, with what the server writes around it; it says what is left out."""
    rows = "".join(f"    - listitem [ref=e{n}]: item number {n}\n" for n in range(5000))
    dialog = "  - dialog [ref=e8]:\n    - button [ref=e9]\n```\n"
    head = "### Page\n- Page URL: http://shop.test/\n```yaml\n- generic [ref=e1]:\n"
    answer = Answer(is_error=False, texts=(f"{head}  - list [ref=e2]:\n{rows}{dialog}",))
    text = format_output(answer)
    assert text.startswith(head)
    assert f"more list items]\n{dialog}[Cut: " in text
    assert len(text) < OUTPUT_LENGTH + 200
