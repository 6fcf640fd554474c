"""What asking ten checks after every step costs on the quickstart's shop: CPU and wall time of a step.

A step is a tool call on a page of the shop: one that stays on it, and one that goes to another page. Steps
with and without the checks take turns; CPU is that of Python, driver and browser.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import measure_apart, median, report
from table import Line, against, exit_code, table

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.features.progress.following import make_follower
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.graders.state_diff import StateDiffGrader, StateSource
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.sites.static import StaticSite
from pytest_browsereval.tools.input import TOOLS
from pytest_browsereval.tools.runner import WindowToolRunner
from pytest_browsereval.tools.toolbox import Toolbox

SHOP = Path(__file__).parent.parent / "examples" / "quickstart" / "sites" / "shop"
GOAL_MS = 10.0
WARM, STEPS = 4, 20

# Kinds as the quickstart's rows have them: most are of the shop's state, then of values, texts and addresses.
CHECKS: tuple[dict[str, Any], ...] = (
    {"path": "cart[0].id", "equals": "dinner-plate"},
    {"path": "cart[0].quantity", "equals": 4},
    {"path": "coupon", "equals": None},
    {"path": "length(orders)", "equals": 1},
    {"js": "document.querySelector('#count')?.textContent", "equals": "4 products"},
    {"js": "document.querySelectorAll('article').length", "equals": 4},
    {"text": "5 products"},
    {"url": {"contains": "category=Garden"}},
    {"url": {"contains": "stock=1"}},
    {"role": "heading", "name": "Garden"},
)
KINDS = {
    "stays": ("press_key", [{"key": "End"}, {"key": "Home"}]),
    "goes to another page": ("click", [{"target": "a.cart-link"}, {"target": "a.logo"}]),
}
SETTINGS = {
    "no checks": (),
    "ten checks": CHECKS,
    "the role alone": CHECKS[-1:],
    "without the role": CHECKS[:-1],
}


def made(folder: Path) -> Path:
    """Make the folder of an attempt."""
    folder.mkdir()
    return folder


async def one(
    browser: PlaywrightBrowser, url: str, folder: Path, setting: tuple[str, str], cpu: Any
) -> dict[str, float]:
    """Take the steps of an attempt; return milliseconds of a step."""
    kind, checks = setting[0], SETTINGS[setting[1]]
    window = await browser.open_window(WindowRequest("benchmark", f"{url}/"))
    capture = CaptureContext(CaptureContextConfig(folder=folder, screenshots="off"), window)
    task = Task(query_id="row", query="Do it.", checks=checks, start_url=f"{url}/")
    state = StateDiffGrader(source=StateSource(storage="local:shop"))
    if checks:
        capture.follower = make_follower(capture, task, [PageStateGrader(), state])
    tools = Toolbox(TOOLS, WindowToolRunner(window), capture, max_steps=10**6)

    async def step(number: int) -> None:
        name, given = KINDS[kind]
        result = await tools.call(name, given[number % 2])
        if not result.ok:
            sys.exit(f"{name}: {result.output}")

    try:
        for number in range(WARM):
            await step(number)
        used, begun = cpu(), time.perf_counter()
        for number in range(STEPS):
            await step(number)
        wall = time.perf_counter() - begun
        await asyncio.sleep(0.1)  # what the browser does afterwards is of the steps too
        taken = cpu() - used
    finally:
        capture.close()
        await window.close()
    return {"cpu_ms": taken / STEPS * 1000, "wall_ms": wall / STEPS * 1000}


async def measure(rounds: int, cpu: Any) -> dict[str, Any]:
    """Return what was found in each round, the settings in turns."""
    found: dict[str, dict[str, list[dict[str, float]]]] = {
        kind: {name: [] for name in SETTINGS} for kind in KINDS
    }
    browser, site = PlaywrightBrowserConfig().build(), StaticSite(SHOP)
    await site.start()
    await browser.start()
    description = browser.description
    try:
        with tempfile.TemporaryDirectory() as root:
            for number in range(rounds):
                for kind in KINDS:
                    for place, name in enumerate(SETTINGS):
                        folder = made(Path(root) / f"{number}-{kind}-{place}")
                        found[kind][name].append(await one(browser, site.url, folder, (kind, name), cpu))
    finally:
        await browser.close()
        await site.close()
    return {"browser": description, "steps": found}


def lines_of(steps: dict[str, dict[str, list[dict[str, float]]]]) -> list[Line]:
    """Return the lines of the table with goals."""
    lines = []
    for kind, by_name in steps.items():
        base = by_name["no checks"]
        for name in list(SETTINGS)[1:]:
            pairs = list(zip(by_name[name], base, strict=True))
            more = median([one["cpu_ms"] - none["cpu_ms"] for one, none in pairs])
            what = f"a step that {kind}, {name}: CPU beyond one without"
            goal = GOAL_MS if name == "ten checks" else None
            if goal is None:
                lines.append(Line(what, "", f"{more:.1f} ms", None))
            else:
                lines.append(against(what, more, "at most", goal, unit="ms", digits=1))
        ratio = median(
            [one["cpu_ms"] / none["cpu_ms"] for one, none in zip(by_name["ten checks"], base, strict=True)]
        )
        wall = median(
            [one["wall_ms"] - none["wall_ms"] for one, none in zip(by_name["ten checks"], base, strict=True)]
        )
        lines.append(Line(f"a step that {kind}, ten checks, to one without: CPU", "", f"{ratio:.2f} x", None))
        lines.append(Line(f"a step that {kind}, ten checks: by the clock", "", f"{wall:.1f} ms more", None))
    return lines


def main() -> int:
    """Measure in a process of its own and tell."""
    found, file = measure_apart(__doc__ or "", 7, measure)
    if found is None:
        return 0
    lines = lines_of(found["steps"])
    print(table(lines), end="\n\n")
    report({"browser": found["browser"], "rounds": found}, file)
    return exit_code(lines)


if __name__ == "__main__":
    sys.exit(main())
