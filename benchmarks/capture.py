"""What recording costs, by what is recorded: CPU, wall time and bytes of a step, through our own capture.

A step is a click by the tool on a page that changes, asks its server for something and writes to its
console; CPU is that of Python, driver and browser. Also: how long a call keeps an agent waiting whose model
thinks meanwhile, and what a line of the message log costs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import measure_apart, median, report
from table import Line, against, exit_code, table

from pytest_browsereval.browsers.base import PictureFormat, WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig, ScreenshotMode
from pytest_browsereval.capture.har import record_traffic
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.recording import TraceMode
from pytest_browsereval.capture.screenshots import write_new
from pytest_browsereval.features.traces.recording import Recording
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.sites.static import StaticSite
from pytest_browsereval.tools.input import click
from pytest_browsereval.tools.runner import WindowToolRunner
from pytest_browsereval.tools.toolbox import Toolbox

GOAL_LINE_US = 20.0
WARM, STEPS = 3, 15
THINKING_S = 0.1
LINES, BATCHES = 500, 9
SECRETS = ("sk-or-v1-0123456789abcdef", 'pass"word & more', "line\nend")

CLICKED = "onclick=\"n.textContent = ++i; console.log('clicked', i); fetch('/data.json?' + i)\""
SIMPLE = (
    f"<!doctype html><title>Simple</title><p id=n>0</p><button {CLICKED}>Go</button><script>i = 0</script>"
)
RICH = f"""<!doctype html><title>Rich</title>
<body style="font-family: sans-serif; background: linear-gradient(45deg, #cde, #fed)">
<h1>Shop <span id=n>0</span> <button {CLICKED}>Press me</button></h1>
<div id=g style="display: grid; grid-template-columns: repeat(6, 1fr); gap: 8px"></div><script>
i = 0;
for (let k = 0; k < 60; k++) {{
  const card = document.createElement('div');
  card.style = 'background: white; border-radius: 8px; padding: 6px; box-shadow: 0 1px 4px #0004';
  card.innerHTML = `<canvas width=160 height=90 style="width: 100%"></canvas>
    <a href="#${{k}}">Product ${{k}}</a><p>Some words about it, for <b>${{(k * 7.31).toFixed(2)}}</b></p>
    <input placeholder="how many of ${{k}}">`;
  g.append(card);
  const pen = card.firstChild.getContext('2d'), noise = pen.createImageData(160, 90);
  for (let j = 0, s = k + 1; j < noise.data.length; j += 4) {{
    s = (s * 1103515245 + 12345) & 0x7fffffff;
    noise.data.set([(j / 64 + s % 40) % 255, (k * 9 + s % 40) % 255, (j / 160) % 255, 255], j);
  }}
  pen.putImageData(noise, 0, 0);
}}
</script>"""
PAGES = {"simple": SIMPLE, "rich": RICH}


@dataclass(frozen=True)
class Variant:
    """What is recorded."""

    screenshots: ScreenshotMode = "off"
    picture: PictureFormat = "jpeg"
    trace: TraceMode = "off"
    console: bool = False
    dom: bool = False
    har: bool = False
    is_careful: bool = False
    """Pictures by Playwright's ``page.screenshot``, which this package does not take."""


VARIANTS = {
    "nothing": Variant(),
    "screenshots: after (jpeg, 80)": Variant("after"),
    "... format: png": Variant("after", "png"),
    "... format: webp": Variant("after", "webp"),
    "screenshots: both (jpeg, 80)": Variant("both"),
    "page.screenshot (jpeg, 80)": Variant(is_careful=True),
    "console": Variant(console=True),
    "dom": Variant(dom=True),
    "har": Variant(har=True),
    "trace": Variant(trace="on"),
}


@dataclass(frozen=True)
class Figures:
    """What a step has cost, and the end of the attempt."""

    cpu_ms: float
    wall_ms: float
    kib: float
    end_cpu_ms: float


Cpu = Callable[[], float]


def made(folder: Path) -> Path:
    """Make the folder of an attempt."""
    folder.mkdir()
    return folder


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@asynccontextmanager
async def attempt(
    browser: PlaywrightBrowser, url: str, folder: Path, variant: Variant
) -> AsyncIterator[tuple[PlaywrightWindow, CaptureContext, Toolbox, Recording]]:
    """Open a window and record it, as an attempt does."""
    async with AsyncExitStack() as stack:
        har = None
        if variant.har:
            har = await stack.enter_async_context(record_traffic(folder, Traffic(), str))
        recording = await stack.enter_async_context(
            Recording(folder, trace=variant.trace, console=variant.console, redact=str)
        )
        request = WindowRequest("benchmark", url, har=har, opened=recording.begin)
        window = await browser.open_window(request)
        stack.push_async_callback(window.close)
        config = CaptureContextConfig(
            folder=folder, screenshots=variant.screenshots, picture=variant.picture, dom=variant.dom
        )
        capture = CaptureContext(config, window)
        stack.callback(capture.close)
        yield window, capture, Toolbox((click,), WindowToolRunner(window), capture), recording


async def one(browser: PlaywrightBrowser, url: str, folder: Path, variant: Variant, cpu: Cpu) -> Figures:
    """Take the steps of an attempt and end it."""
    async with attempt(browser, url, folder, variant) as (window, _, tools, recording):

        async def step(number: int) -> None:
            await tools.call("click", {"target": "button"})
            if variant.is_careful:
                write_new(folder / f"{number}.jpeg", await window.page.screenshot(type="jpeg", quality=80))

        for number in range(WARM):
            await step(number)
        await asyncio.sleep(0.1)
        used, begun = cpu(), time.perf_counter()
        for number in range(WARM, WARM + STEPS):
            await step(number)
        wall = time.perf_counter() - begun
        await asyncio.sleep(0.1)
        taken = cpu()
        await recording.end()
    ended = cpu()
    kib = size_of(folder) / 1024 / (WARM + STEPS)
    return Figures((taken - used) / STEPS * 1000, wall / STEPS * 1000, kib, (ended - taken) * 1000)


async def waits(
    browser: PlaywrightBrowser, url: str, folder: Path, variant: Variant, *, ahead: bool
) -> float:
    """Return for how many milliseconds more than its thinking a step keeps an agent."""
    async with (
        attempt(browser, url, folder, variant) as (_, capture, tools, _),
        capture.going_ahead() if ahead else nullcontext(),
    ):
        begun = time.perf_counter()
        for _ in range(STEPS):
            await tools.call("click", {"target": "button"})
            await asyncio.sleep(THINKING_S)
        return ((time.perf_counter() - begun) / STEPS - THINKING_S) * 1000


WAITING = {
    "nothing": (Variant(), False),
    "screenshots: after, waited for": (Variant("after"), False),
    "screenshots: after, while the model thinks": (Variant("after"), True),
    "screenshots: after and dom, waited for": (Variant("after", dom=True), False),
    "screenshots: after and dom, while the model thinks": (Variant("after", dom=True), True),
}


def line_us(secrets: Iterable[str]) -> float:
    """Return the CPU microseconds of making and writing the line of a tool's result of 1 kB.

    The least of several batches: whatever else the machine does only adds to it.
    """
    known = list_spellings(secrets)

    def redact(text: str) -> str:
        for secret in known:
            text = text.replace(secret, "[redacted]")
        return text

    with tempfile.TemporaryDirectory() as name:
        log = MessageLogger(Path(name), redact=redact)
        batches = [batch_s(log) for _ in range(BATCHES)]
        log.close()
    return min(batches) / LINES * 1e6


def batch_s(log: MessageLogger) -> float:
    """Return the CPU seconds of a batch of lines."""
    output = ('- button "Add to cart" [ref=e12]\n' * 30)[:800]
    begun = time.process_time()
    for number in range(LINES):
        message = ToolResultMessage(
            tool_call_id=f"call-{number}",
            result={"ok": True, "output": output},
            is_error=False,
            screenshot=number,
            url="http://127.0.0.1:8080/shop/cart?item=12",
            span_id=f"call-{number}",
            duration_ms=12.345,
        )
        log.log(message)
    return time.process_time() - begun


LOGS = {"no secret": (), "one secret": SECRETS[:1], "three secrets": SECRETS}


async def measure(rounds: int, cpu: Cpu) -> dict[str, Any]:
    """Return what was found in each round."""
    steps: dict[str, dict[str, list[Figures]]] = {page: {name: [] for name in VARIANTS} for page in PAGES}
    waiting: dict[str, list[float]] = {name: [] for name in WAITING}
    lines: dict[str, list[float]] = {name: [] for name in LOGS}
    browser = PlaywrightBrowserConfig().build()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for page, text in PAGES.items():
            (root / f"{page}.html").write_text(text)
        (root / "data.json").write_text(json.dumps({"text": "x" * 2000}))
        site = StaticSite(root)
        await site.start()
        await browser.start()
        description = browser.description
        try:
            for number in range(rounds):
                for page in PAGES:
                    for place, (what, variant) in enumerate(VARIANTS.items()):
                        folder = made(root / f"{number}-{page}-{place}")
                        url = f"{site.url}/{page}.html"
                        steps[page][what].append(await one(browser, url, folder, variant, cpu))
                for place, (what, (variant, ahead)) in enumerate(WAITING.items()):
                    url, folder = f"{site.url}/rich.html", made(root / f"{number}-waits-{place}")
                    waiting[what].append(await waits(browser, url, folder, variant, ahead=ahead))
                for what, secrets in LOGS.items():
                    lines[what].append(line_us(secrets))
        finally:
            await browser.close()
            await site.close()
    return {
        "browser": description,
        "steps": {
            page: {name: [vars(one) for one in found] for name, found in by_name.items()}
            for page, by_name in steps.items()
        },
        "waits_ms": waiting,
        "line_us": lines,
    }


def cost_table(steps: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    """Return the cost of a step by what is recorded, as a table of Markdown."""
    head = "| capture | " + " | ".join(
        f"{page}: CPU ms | x | wall ms | KiB | CPU ms at the end" for page in steps
    )
    rows = [f"{head} |", "|---" * (1 + 5 * len(steps)) + "|"]
    for name in VARIANTS:
        cells = [name]
        for by_name in steps.values():
            mine, base = by_name[name], by_name["nothing"]
            ratio = median([one["cpu_ms"] / none["cpu_ms"] for one, none in zip(mine, base, strict=True)])
            figures = {key: median([one[key] for one in mine]) for key in mine[0]}
            cells += [f"{figures['cpu_ms']:.1f}", f"{ratio:.2f}", f"{figures['wall_ms']:.0f}"]
            cells += [f"{figures['kib']:.1f}", f"{figures['end_cpu_ms']:.0f}"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def lines_of(found: dict[str, Any]) -> list[Line]:
    """Return the lines of the table with goals."""
    logged = [
        against(
            f"a line of the message log, 1 kB, {name}",
            median(us),
            "at most",
            GOAL_LINE_US,
            unit="us",
            digits=1,
        )
        for name, us in found["line_us"].items()
    ]
    waited = [
        Line(f"a step of the rich page beyond thinking, {name}", "", f"{median(ms):.0f} ms", None)
        for name, ms in found["waits_ms"].items()
    ]
    return [*logged, *waited]


def main() -> int:
    """Measure in a process of its own and tell."""
    found, file = measure_apart(__doc__ or "", 7, measure)
    if found is None:
        return 0
    lines = lines_of(found)
    print(cost_table(found["steps"]), table(lines), sep="\n\n", end="\n\n")
    report({"browser": found["browser"], "rounds": found}, file)
    return exit_code(lines)


if __name__ == "__main__":
    sys.exit(main())
