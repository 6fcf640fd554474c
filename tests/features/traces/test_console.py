"""What real pages write to their consoles."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.capture.recording import CONSOLE_FILE
from pytest_browsereval.features.traces.console import LONGEST, MOST_LINES
from pytest_browsereval.features.traces.recording import Recording
from tests.features.traces.consoles import read_console
from tests.support import PageServer, Run, until

SECRET = 'pass"word & ' + "1" * 40


def recording_in(folder: Path) -> Recording:
    return Recording(folder, trace="off", console=True, redact=lambda text: text.replace(SECRET, "***"))


def said(folder: Path) -> list[tuple[str, str, int | None]]:
    return [(line.kind, line.text, line.tab) for line in read_console(folder)]


async def heard(
    browser: PlaywrightBrowser, url: str, folder: Path, last: str, script: str = "0"
) -> Recording:
    """Record a page until it has written its last line, and close it."""
    recording = recording_in(folder)
    window = await browser.open_window(WindowRequest("row", url, script, opened=recording.begin))
    await until(lambda: any(last in line.text for line in read_console(folder)), 60)
    await window.close()
    return recording


def test_every_tab_is_heard_from_its_first_line(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Lines of the start page, of a pop-up, and errors that nothing caught, with their places."""
    popup = pages.page("/popup", "<script>console.warn('second tab', {a: 1})</script>")
    url = pages.page(
        "/console",
        "<!doctype html>\n<script>console.log('loading');\n"
        "setTimeout(() => { throw new TypeError('boom') })\n"
        f"Promise.reject('no'); setTimeout(() => open('{popup}'), 50)</script>",
    )
    recording = run(heard(browser, url, tmp_path, "second tab"))
    lines = list(read_console(tmp_path))
    assert said(tmp_path)[0] == ("log", "loading", 1)
    uncaught = [line for line in lines if line.kind == "uncaught"]
    (boom, no) = sorted(uncaught, key=lambda line: "boom" not in line.text)  # either may be told first
    assert (boom.url, boom.line, boom.tab) == (url, 3, 1)
    assert boom.text.startswith("TypeError: boom")
    assert "no" in no.text
    assert said(tmp_path)[-1] == ("warning", "second tab {a: 1}", 2)
    assert lines[0].timestamp <= lines[-1].timestamp
    assert recording.warnings == []


def test_secrets_and_long_texts_are_taken_out(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """A secret is found also where the text is cut; half a character breaks nothing."""
    start = "x" * (LONGEST - 5)
    many = f"{SECRET!r}.repeat({LONGEST})"
    url = pages.page(
        "/secrets", f"<script>console.info({start + SECRET!r}); console.log('\\ud83d end', {many})</script>"
    )
    run(heard(browser, url, tmp_path, " end"))
    assert (tmp_path / CONSOLE_FILE).read_text().count("word") == 0
    first, second = read_console(tmp_path)
    assert first.text == f"{start}***"
    assert first.cut is None or first.cut > 0
    assert " end ***" in second.text


def test_a_page_that_writes_without_end_is_cut_off(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """The first lines stay, the last one says so, and so does a warning."""
    url = pages.page("/flood", f"<script>for (let i = 0; i < {MOST_LINES + 50}; i++) console.log(i)</script>")
    recording = run(heard(browser, url, tmp_path, "no longer recorded"))
    lines = said(tmp_path)
    assert len(lines) == MOST_LINES + 1
    assert lines[-2] == ("log", str(MOST_LINES - 1), 1)
    assert lines[-1][0] == "left_out"
    assert recording.warnings == [lines[-1][1]]


def test_nothing_is_heard_after_the_end(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """What graders cause is no part of the attempt; a silent page leaves an empty file."""

    async def course() -> None:
        recording = recording_in(tmp_path)
        url = pages.page("/silent", "<p>Hello")
        window = await browser.open_window(WindowRequest("row", url, opened=recording.begin))
        await recording.end()
        await window.page.evaluate("console.log('late')")
        await window.close()
        await recording.end()

    run(course())
    assert (tmp_path / CONSOLE_FILE).read_bytes() == b""
    assert list(read_console(tmp_path)) == []
