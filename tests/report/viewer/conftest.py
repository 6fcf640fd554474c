"""Runs to look at, and somebody with a browser who opens them as files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from pytest_browsereval.browsers.manager import WindowManager
from pytest_browsereval.browsers.playwright import PlaywrightBrowser
from pytest_browsereval.browsers.windows import PlaywrightWindow
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.model.messages import (
    AssistantMessage,
    DelegationMessage,
    DelegationResultMessage,
    ErrorMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.report.viewer.writing import write_viewer
from pytest_browsereval.run.store import RunStore
from tests.labelled import folder_of, grade, graded, paint, write_run
from tests.recorded import FAILED, PASSED
from tests.support import Run, browser, run

__all__ = ["browser", "run"]

HOSTILE = (
    "<script>document.title = 'owned'</script></script><!-- <img src=x onerror=\"document.title='owned'\">"
    "\u2028\u202e{{1}} @@data@@ ${1}\\ 'x' `x` ]]>"
)
SETTLED = "() => document.querySelector('#attempt').ariaBusy === 'false'"


class Reader:
    """Somebody who looks at a page."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page = page
        self.file = file
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def open(self, place: str = "#?") -> None:
        """Open the page at a place of it, anew."""
        await self.page.goto("about:blank")
        await self.page.goto(self.file.as_uri() + place)
        if place.startswith("#/"):
            await self.page.wait_for_function(SETTLED)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)

    async def text(self, selector: str) -> str:
        found: str = await self.page.locator(selector).inner_text()
        return " ".join(found.split())

    async def texts(self, selector: str) -> list[str]:
        return [" ".join(text.split()) for text in await self.page.locator(selector).all_inner_texts()]

    async def sees(self, selector: str, text: str) -> None:
        await self.page.locator(selector).filter(has_text=text).first.wait_for()

    async def place(self) -> str:
        """Where the page is, as its address says."""
        return str(await self.page.evaluate("location.href")).partition("#")[2]


class Look(Protocol):
    """Lets somebody look at a page; whatever it complains of fails the test."""

    def __call__(self, file: Path, work: Callable[[Reader], Awaitable[None]], /) -> None: ...


@pytest.fixture
def look(run: Run, browser: PlaywrightBrowser) -> Look:
    """Return how to look at a page in a real browser."""

    def visit(file: Path, work: Callable[[Reader], Awaitable[None]]) -> None:
        async def whole() -> None:
            manager = WindowManager(browser)
            try:
                window = await manager.create_window("view")
                assert isinstance(window, PlaywrightWindow)
                reader = Reader(window.page, file)
                await work(reader)
                assert reader.complaints == []
            finally:
                await manager.close_all()

        run(whole())

    return visit


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Return a run: passed, failed, errored, tried again, unfinished, damaged, hostile in all texts."""
    store = write_run(
        tmp_path / "a run #1",
        graded("buy", grade("state", FAILED), website="shop", tags=("cart",), cost_usd=0.5, reason="1 mug"),
        graded(
            "find", grade("state", PASSED), website="shop", tags=("cart", "read"), total_duration_ms=900.0
        ),
        graded("login", website="bank", error_source=ErrorSource.SITE),
        graded("login", grade("state", PASSED), website="bank", attempt=2),
        graded("pay", website="bank", error_source=ErrorSource.PROVIDER),
        _hostile(),
        graded("spoiled", grade("state", PASSED)),
    )
    store.write_manifest({"name": "shop", "config": {"browser": {"viewport": {"width": 640, "height": 360}}}})
    (folder_of(store, "spoiled") / "metadata.json").write_text('{"query_id": "spoiled", ')
    (folder_of(store, "buy").parent / "attempt-2").mkdir()
    _course(folder_of(store, "buy"))
    _hostile_course(folder_of(store, HOSTILE))
    return store


@pytest.fixture
def page(store: RunStore) -> Path:
    """Return the page of the run."""
    return write_viewer(store.root).file


def _hostile() -> Any:
    criterion = Criterion(name=HOSTILE, verdict=FAILED, expected=HOSTILE, actual={HOSTILE: 1}, reason=HOSTILE)
    more: dict[str, Any] = {"reasoning": HOSTILE, "criteria": (criterion,), "details": {HOSTILE: HOSTILE}}
    return graded(
        HOSTILE,
        grade(HOSTILE, FAILED, evidence=("../../../../../manifest.json", "javascript:alert(1)"), **more),
        query=HOSTILE,
        dataset=HOSTILE,
        website=HOSTILE,
        tags=(HOSTILE, "__proto__"),
        reason=HOSTILE,
        final_answer=HOSTILE,
        start_url="javascript:document.title='owned'",
        final_url="data:text/html,<script>alert(1)</script>",
        started_at=HOSTILE,
    )


def _write(folder: Path, *messages: Message) -> None:
    log = MessageLogger(folder)
    for message in messages:
        log.log(message)
    log.close()


def _course(folder: Path) -> None:
    """Write two steps of an orchestrator, and one between them of its executor."""
    (folder / "screenshots").mkdir()
    for number in (1, 2):
        paint(folder / "screenshots" / f"{number:03}.png", f"page {number}")
    said = Usage(input_tokens=4_200, output_tokens=80, requests=1, cost_usd=0.25)
    _write(
        folder,
        UserMessage(content="Buy two mugs."),
        AssistantMessage(content="I open the shop.", usage=said, duration_ms=1500.0),
        ToolCallMessage(tool="navigate", tool_call_id="1", params={"url": "http://shop.test/"}),
        ToolResultMessage(
            tool_call_id="1", result={"ok": True, "output": "Opened."}, is_error=False, screenshot=1
        ),
        DelegationMessage(instruction="Add the mugs.", executor_id="e1", span_id="d1"),
        ToolCallMessage(tool="click_at", tool_call_id="2", params={"x": 320, "y": 90}, parent_id="d1"),
        ToolResultMessage(
            tool_call_id="2",
            result="Nothing is there.",
            is_error=True,
            screenshot=2,
            url="http://shop.test/mugs",
            duration_ms=81.5,
            parent_id="d1",
        ),
        DelegationResultMessage(summary="One mug.", executor_id="e1", status="blocked", steps_used=1),
        ErrorMessage(content="the page crashed", error_code="browser"),
        ToolCallMessage(tool="done", tool_call_id="3", params={}),
    )


def _hostile_course(folder: Path) -> None:
    call = ToolCallMessage(tool=HOSTILE, tool_call_id="1", params={HOSTILE: HOSTILE, "x": 1, "y": 1e300})
    result = {"ok": True, "output": HOSTILE + "A" * 100_000}
    _write(
        folder,
        UserMessage(content=HOSTILE),
        AssistantMessage(content=HOSTILE),
        call,
        ToolResultMessage(
            tool_call_id="1", result=result, is_error=True, screenshot=7, url="javascript:alert(1)"
        ),
        ErrorMessage(content=HOSTILE, error_code=HOSTILE),
        DelegationMessage(instruction=HOSTILE, executor_id=HOSTILE, span_id=HOSTILE),
        DelegationResultMessage(summary=HOSTILE, executor_id=HOSTILE, status="done", steps_used=1),
    )
    with (folder / "messages.jsonl").open("ab") as log:
        log.write(b'[1]\nnull\n{"type": "tool_call", "tool": \xff\xfe\n{"type": "cut')
    (folder / "trap.html").write_text(HOSTILE)
    (folder / "leak.txt").symlink_to("/etc/hostname")
