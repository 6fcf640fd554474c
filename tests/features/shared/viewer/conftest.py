"""Runs to look at, and somebody with a browser who opens them as files."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.clipboard import DONE
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.dom import INERT
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.compare.compare import RunComparison, compare
from pytest_browsereval.features.compare.page import write_comparison
from pytest_browsereval.features.shared.viewer.writing import write_viewer
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
from pytest_browsereval.run.store import RunStore
from tests.labelled import folder_of, grade, graded, paint, write_course, write_run
from tests.recorded import FAILED, PASSED, spoil_line, write_summary
from tests.support import Run

HOSTILE = (
    "<script>document.title = 'owned'</script></script><!-- <img src=x onerror=\"document.title='owned'\">"
    "\u2028\u202e{{1}} @@data@@ ${1}\\ 'x' `x` ]]>"
)
CANARY = f"{HOSTILE}\x1b[31mred\x1b[0m\x9b2J\u200b\u2066\x00"
"""The same with what steers terminals, and signs that nobody sees."""
FILLED = """async (summary) => {
  while (summary.parentElement.childElementCount < 2) await new Promise(requestAnimationFrame);
}"""
SETTLED = "() => document.querySelector('#attempt').ariaBusy === 'false'"


class Reader:
    """Somebody who looks at a page."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.extend({message.text} - {DONE}))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def open(self, place: str = "#?") -> None:
        """Open the page at a place of it, anew."""
        await self.page.goto("about:blank")
        await self.page.goto(self.address + place)
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

    async def unfold(self, selector: str) -> None:
        """Open boxes by their summaries, and wait for what is in them."""
        for summary in await self.page.locator(selector).all():
            await summary.click()
            await summary.evaluate(FILLED)

    async def links(self, below: str = "body") -> list[str]:
        """Where the links of a part of the page lead."""
        script = "(all) => all.map((one) => one.getAttribute('href'))"
        found: list[str] = await self.page.locator(f"{below} a").evaluate_all(script)
        return found

    async def place(self) -> str:
        """Where the page is, as its address says."""
        return str(await self.page.evaluate("location.href")).partition("#")[2]


R = TypeVar("R", bound=Reader)
Look = Callable[[Path, Callable[[Reader], Awaitable[None]]], None]
Watch = Callable[[str, Callable[[Reader], Awaitable[None]]], None]


async def read_page(
    browser: PlaywrightBrowser, address: str, work: Callable[[R], Awaitable[None]], reader: type[R]
) -> None:
    """Open a page in a window of its own and work in it; errors of the page fail the test."""
    manager = WindowManager(browser)
    try:
        window = await manager.create_window("view")
        assert isinstance(window, PlaywrightWindow)
        opened = reader(window.page, address)
        await work(opened)
        assert opened.complaints == []
    finally:
        await manager.close_all()


@pytest.fixture
def look(run: Run, browser: PlaywrightBrowser) -> Look:
    """Return how to look at a page that is a file in a real browser."""
    return lambda file, work: run(read_page(browser, file.as_uri(), work, Reader))


@pytest.fixture
def watch(run: Run, browser: PlaywrightBrowser) -> Watch:
    """Return how to look at a page that is served."""
    return lambda url, work: run(read_page(browser, url, work, Reader))


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
    store.write_manifest({"name": "shop", "config": {}})
    spoil_line(store.root, "spoiled")
    (folder_of(store, "buy").parent / "attempt-2").mkdir()
    _course(folder_of(store, "buy"))
    _hostile_course(folder_of(store, HOSTILE))
    return store


@pytest.fixture
def page(store: RunStore) -> Path:
    """Return the page of the run."""
    return write_viewer(open_door(), store.root).file


def _hostile() -> Any:
    more: dict[str, Any] = {"expected": HOSTILE, "actual": {HOSTILE: 1}, "reason": f"so {HOSTILE}"}
    criterion = Criterion(name=HOSTILE, verdict=FAILED, **more)
    more = {"reasoning": f"as {HOSTILE}", "criteria": (criterion,), "details": {HOSTILE: HOSTILE}}
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


def call(number: int, tool: str, params: dict[str, Any], **more: Any) -> ToolCallMessage:
    return ToolCallMessage(tool=tool, tool_call_id=str(number), params=params, **more)


def result(number: int, result: Any = "ok", *, is_error: bool = False, **more: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=str(number), result=result, is_error=is_error, **more)


def write_log(folder: Path, *messages: Message) -> None:
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
    second = {"url": "http://shop.test/mugs", "duration_ms": 81.5, "parent_id": "d1"}
    write_log(
        folder,
        UserMessage(content="Buy two mugs."),
        AssistantMessage(content="I open the shop.", usage=said, duration_ms=1500.0),
        call(1, "navigate", {"url": "http://shop.test/"}),
        result(1, {"ok": True, "output": "Opened."}, screenshot=1),
        DelegationMessage(instruction="Add the mugs.", executor_id="e1", span_id="d1"),
        call(2, "click_at", {"x": 320, "y": 90}, parent_id="d1"),
        result(2, "Nothing is there.", is_error=True, screenshot=2, **second),
        DelegationResultMessage(summary="One mug.", executor_id="e1", status="blocked", steps_used=1),
        ErrorMessage(content="the page crashed", error_code="browser"),
        call(3, "done", {}),
    )


def _hostile_course(folder: Path) -> None:
    told = {"ok": True, "output": HOSTILE + "A" * 100_000}
    write_log(
        folder,
        UserMessage(content=HOSTILE),
        AssistantMessage(content=HOSTILE),
        call(1, HOSTILE, {HOSTILE: HOSTILE, "x": 1, "y": 1e300}),
        result(1, told, is_error=True, screenshot=7, url="javascript:alert(1)"),
        ErrorMessage(content=HOSTILE, error_code=HOSTILE),
        DelegationMessage(instruction=HOSTILE, executor_id=HOSTILE, span_id=HOSTILE),
        DelegationResultMessage(summary=HOSTILE, executor_id=HOSTILE, status="done", steps_used=1),
    )
    with (folder / "messages.jsonl").open("ab") as log:
        log.write(b'[1]\nnull\n{"type": "tool_call", "tool": \xff\xfe\n{"type": "cut')
    (folder / "trap.html").write_text(HOSTILE)
    (folder / "leak.txt").symlink_to("/etc/hostname")


# -- what is recorded beside the messages


def at(second: int) -> str:
    """A moment of an attempt."""
    return f"2025-01-01T12:00:{second:02}.500Z"


def asked(second: int, url: str, status: Any = 200, **more: Any) -> dict[str, Any]:
    """An entry of a HAR file."""
    content = {"size": more.get("size", 1500), "mimeType": more.get("kind", "text/html; charset=utf-8")}
    failure = {"_failureText": more["failure"]} if "failure" in more else {}
    return {
        "startedDateTime": at(second),
        "time": 12.34,
        "request": {"method": more.get("method", "GET"), "url": url},
        "response": {"status": status, "content": content, **failure},
    }


def write_records(folder: Path, console: list[dict[str, Any]], requests: list[dict[str, Any]]) -> None:
    """Write two copies of the markup, one of them not by us, and a trace as well."""
    lines = (json.dumps({"timestamp": at(0), **line}) + "\n" for line in console)
    (folder / "console.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "network.har").write_text(json.dumps({"log": {"entries": requests}}), encoding="utf-8")
    (folder / "dom").mkdir()
    (folder / "dom/001.html").write_text(f"{INERT}<p>The page</p>\n")
    (folder / "dom/002.html").write_text("<script>document.title = 'owned'</script>")
    (folder / "trace.zip").write_bytes(b"PK")


@pytest.fixture
def recorded(store: RunStore) -> RunStore:
    """Return the run with records of what passed and of what is hostile."""
    folder = folder_of(store, "find")
    write_log(
        folder,
        UserMessage(content="Find it.", timestamp=at(1)),
        call(1, "navigate", {"url": "http://shop.test/"}, timestamp=at(10)),
        result(1, dom=1, timestamp=at(14)),
        call(2, "click", {"target": "e1"}, timestamp=at(20)),
        result(2, dom=2, timestamp=at(21)),
    )
    raised = "TypeError: x is not a function"
    said: list[dict[str, Any]] = [
        {"timestamp": at(0), "kind": "log", "text": "before"},
        {"timestamp": at(11), "kind": "warning", "text": "slow", "url": "http://shop.test/a.js", "line": 7},
        {"timestamp": at(25), "kind": "uncaught", "text": raised, "tab": 2, "cut": 9},
        {"timestamp": at(26), "kind": "error", "text": "404"},
    ]
    requests = [
        asked(11, "http://shop.test/"),
        asked(12, "http://shop.test/gone.png", 404, kind="image/png", size=-1),
        asked(22, "http://elsewhere.test/", -1, failure="net::ERR_BLOCKED_BY_CLIENT", method="POST"),
    ]
    write_records(folder, said, requests)
    hostile = folder_of(store, HOSTILE)
    said = [{"timestamp": CANARY, "kind": CANARY, "text": CANARY + "B" * 3_000, "url": CANARY}]
    more = dict.fromkeys(("method", "kind", "failure"), CANARY)
    write_records(hostile, said, [asked(1, f"javascript:document.title='owned'//{CANARY}", CANARY, **more)])
    with (hostile / "console.jsonl").open("ab") as file:
        file.write(b'{"kind": "log", "text": "\xff\xfe"}\n[1]\n')
        file.write(b'{"kind": 7, "text": {"a": 1}, "tab": "x"}\n{"kind": "cut')
    return store


# -- two runs


@pytest.fixture
def two_runs(tmp_path: Path) -> RunComparison:
    """Return the comparison of two runs: tasks of each change, one with two trials, hostile texts."""
    lost: dict[str, Any] = {"website": "shop", "tags": ("cart",), "cost_usd": 0.1}
    a = [
        graded("alike", grade("state", PASSED), website="shop"),
        graded("lost", grade("state", PASSED), total_steps=3, **lost),
        graded("gained", grade("state", FAILED), website="bank", total_steps=9, cost_usd=0.5),
        graded("broke", grade("state", PASSED)),
        graded("gone", grade("state", PASSED)),
        *(graded("twice", grade("state", verdict), trial=n) for n, verdict in ((1, PASSED), (2, FAILED))),
        _hostile(),
    ]
    b = [
        graded("alike", grade("state", PASSED), website="shop"),
        graded("lost", grade("state", FAILED), total_steps=5, reason="no mug", **lost),
        graded("gained", grade("state", PASSED), website="bank", total_steps=4, cost_usd=0.25),
        graded("broke", error_source=ErrorSource.PROVIDER),
        *(graded("twice", grade("state", PASSED), trial=n) for n in (1, 2)),
        _hostile(),
    ]
    stores = []
    for name, attempts in (("run a #1", a), ("run b é", b)):
        store = write_run(tmp_path / name, *attempts)
        store.write_manifest({"name": "shop", "config": {"seed": name}})
        write_summary(store, selected=len(attempts))
        _hostile_course(folder_of(store, HOSTILE))
        stores.append(store)
    first = ("navigate", {"url": "http://shop.test/"}, "Opened.")
    last: tuple[str, dict[str, Any], str] = ("done", {}, "Done.")
    write_course(folder_of(stores[0], "lost"), first, ("click", {"target": "e7"}, "Clicked."), last)
    steps = [("click", {"target": "e8"}, "Nothing is there."), ("click", {"target": "e9"}, "Clicked.")]
    write_course(folder_of(stores[1], "lost"), first, *steps, ("type", {"text": "x"}, "Typed."), last)
    hostile = folder_of(stores[1], HOSTILE)
    write_records(hostile, [{"kind": CANARY, "text": CANARY}], [asked(1, CANARY, CANARY)])
    return compare(*(read_run(store.root) for store in stores))


@pytest.fixture
def compared(two_runs: RunComparison, tmp_path: Path) -> Path:
    """Return the page of two runs."""
    file = tmp_path / "a page.html"
    write_comparison(open_door(), two_runs, file)
    return file
