"""What texts in shadow trees and frames cost to read and to wait for, to the same texts in a plain page."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import arguments, median, report
from tool_call import cpu_of_all, per_call

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.tools.navigation import wait_for_text
from pytest_browsereval.tools.observation import read_text
from pytest_browsereval.tools.runner import WindowToolRunner
from pytest_browsereval.tools.toolbox import Toolbox

GOAL = 2.0
CALLS = 20
PARTS, LINES = 10, 30
LAST = f"Line {PARTS * LINES - 1}:"
PARTS_OF_PAGE = [
    "".join(
        f"<p>Line {part * LINES + line}: a mug of stoneware <b>for {line} euros</b></p>"
        for line in range(LINES)
    )
    for part in range(PARTS)
]
PAGES = {
    "plain": "".join(f"<div>{part}</div>" for part in PARTS_OF_PAGE),
    "shadow trees": "".join(
        f"<div><template shadowrootmode=open>{part}</template></div>" for part in PARTS_OF_PAGE
    ),
    "frames": "".join(f"<iframe srcdoc='{part}'></iframe>" for part in PARTS_OF_PAGE),
}
"""The same texts, in as many parts each."""


async def measure_page(window: PlaywrightWindow, tools: Toolbox, page: str) -> dict[str, list[float]]:
    """Return milliseconds of a call: on the wall, and of CPU of this process, the driver and the browser."""
    await window.page.goto("about:blank")
    await window.page.set_content(page)
    found: dict[str, list[float]] = {}
    for name, given in (("read_text", {}), ("wait_for_text", {"text": LAST})):
        result = await tools.call(name, given)
        if not result.ok or LAST not in result.output:
            sys.exit(f"{name} gave {result.output}")
        for what, clock in (("wall", time.perf_counter), ("cpu", cpu_of_all)):
            call = lambda name=name, given=given: tools.call(name, given)  # noqa: E731
            found[f"{name} {what}"] = [await per_call(call, CALLS, clock)]
    return found


async def measure(rounds: int) -> dict[str, Any]:
    """Return medians of milliseconds, and of ratios to the plain page of the same round."""
    browser = PlaywrightBrowserConfig().build()
    await browser.start()
    description = browser.description
    try:
        window = await browser.open_window(WindowRequest("benchmark", start_url="about:blank"))
        if not isinstance(window, PlaywrightWindow):
            sys.exit("that is not a window with pages")
        with tempfile.TemporaryDirectory() as name:
            capture = CaptureContext(CaptureContextConfig(folder=Path(name), screenshots="off"), window)
            tools = Toolbox((read_text, wait_for_text), WindowToolRunner(window), capture)
            taken: dict[str, dict[str, list[float]]] = {page: {} for page in PAGES}
            for _ in range(rounds):
                for page, content in PAGES.items():
                    for key, values in (await measure_page(window, tools, content)).items():
                        taken[page].setdefault(key, []).extend(values)
    finally:
        await browser.close()
    plain = taken["plain"]
    figures = {
        page: {
            key: {
                "ms": median(values),
                "ratio": median([one / raw for one, raw in zip(values, plain[key], strict=True)]),
            }
            for key, values in keys.items()
        }
        for page, keys in taken.items()
    }
    ratios = (one["ratio"] for keys in figures.values() for key, one in keys.items() if key.endswith("cpu"))
    is_met = all(ratio <= GOAL for ratio in ratios)  # on the wall they scatter with what else is running
    return {"browser": description, "goal": GOAL, "is_met": is_met, "pages": figures}


def main() -> None:
    """Measure and tell."""
    options = arguments(__doc__ or "", rounds=9).parse_args()
    figures = asyncio.run(measure(options.rounds))
    report(figures, options.json)
    sys.exit(not figures["is_met"])


if __name__ == "__main__":
    main()
