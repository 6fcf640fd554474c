"""What a tool call costs beside its work: checking, limits, dialogs, notes and the message log.

First around a tool that does nothing, then around a click on a real page, against Playwright's own click.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
from measuring import arguments, median, report

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig, ScreenshotMode
from pytest_browsereval.model.messages import Message
from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.input import click
from pytest_browsereval.tools.runner import WindowToolRunner
from pytest_browsereval.tools.toolbox import Toolbox

GOAL_MS = 1.0
CALLS = 300
CLICKS = 40
PAGE = "data:text/html,<button onclick='document.title = Date.now()'>Press me</button>"

Call = Callable[[], Awaitable[object]]


@tool
async def nothing(window: PlaywrightWindow, target: str) -> str:
    """Do nothing."""
    del window
    return f"Did nothing to {target}."


class Unlogged(CaptureContext):
    """Records everything but messages."""

    def log(self, message: Message) -> None:
        """Forget it."""
        del message


def toolbox(
    window: PlaywrightWindow, folder: Path, kind: type[CaptureContext], screenshots: ScreenshotMode = "off"
) -> Toolbox:
    """Return what an attempt would call its tools through."""
    folder.mkdir()
    capture = kind(CaptureContextConfig(folder=folder, screenshots=screenshots), window)
    return Toolbox((nothing, click), WindowToolRunner(window), capture)


async def per_call(call: Call, times: int, clock: Callable[[], float]) -> float:
    """Return the milliseconds of one call."""
    before = clock()
    for _ in range(times):
        await call()
    return (clock() - before) / times * 1000


def cpu_of_all() -> float:
    """Return the CPU seconds of this process, the driver and the browser."""
    mine = psutil.Process()
    used = 0.0
    for process in (mine, *mine.children(recursive=True)):
        times = process.cpu_times()
        used += times.user + times.system
    return used


async def around_nothing(window: PlaywrightWindow, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return milliseconds per call, by variant, of CPU (of this process) and on the wall."""
    logged, unlogged = toolbox(window, folder / "a", CaptureContext), toolbox(window, folder / "b", Unlogged)
    variants: dict[str, Call] = {
        "the body alone": lambda: nothing.body(window, target="e12"),
        "a call without the message log": lambda: unlogged.call("nothing", {"target": "e12"}),
        "a call": lambda: logged.call("nothing", {"target": "e12"}),
    }
    figures: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in variants}
    for _ in range(rounds):
        for name, call in variants.items():
            figures[name][0].append(await per_call(call, CALLS, time.process_time))
            figures[name][1].append(await per_call(call, CALLS, time.perf_counter))
    return {name: {"cpu_ms": median(cpu), "wall_ms": median(wall)} for name, (cpu, wall) in figures.items()}


async def around_click(window: PlaywrightWindow, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return CPU milliseconds per click of Python, driver and browser, and the ratio to Playwright's."""
    plain, pictured = (
        toolbox(window, folder / "c", CaptureContext),
        toolbox(window, folder / "d", CaptureContext, "after"),
    )
    variants: dict[str, Call] = {
        "Playwright's click": lambda: window.page.click("button"),
        "the tool": lambda: plain.call("click", {"target": "button"}),
        "the tool and its picture": lambda: pictured.call("click", {"target": "button"}),
    }
    figures: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, call in variants.items():
            figures[name].append(await per_call(call, CLICKS, cpu_of_all))
    base = figures["Playwright's click"]
    return {
        name: {
            "cpu_ms": median(values),
            "ratio": median([value / raw for value, raw in zip(values, base, strict=True)]),
        }
        for name, values in figures.items()
    }


async def measure(rounds: int) -> dict[str, object]:
    """Return all figures."""
    browser = PlaywrightBrowserConfig().build()
    await browser.start()
    try:
        window = await browser.open_window(WindowRequest("benchmark", start_url=PAGE))
        with tempfile.TemporaryDirectory() as name:
            idle = await around_nothing(window, Path(name), rounds)
            clicks = await around_click(window, Path(name), rounds)
        return {
            "browser": browser.description,
            "around nothing": idle,
            "goal_ms": GOAL_MS,
            "is_met": idle["a call"]["cpu_ms"] - idle["the body alone"]["cpu_ms"] <= GOAL_MS,
            "around a click": clicks,
        }
    finally:
        await browser.close()


def main() -> None:
    """Measure and tell."""
    options = arguments(__doc__ or "", rounds=9).parse_args()
    report(asyncio.run(measure(options.rounds)), options.json)


if __name__ == "__main__":
    main()
