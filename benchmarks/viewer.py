"""The viewer of 1,000 tasks with ten pictures each, of 20,000 attempts, and of two runs, written and opened.

Writing runs as a user has it, ``browsereval view RUN`` in a process of its own, and once more inside this
one, as it is at the end of a session. Opening is measured by Chromium itself: script, style and layout, in
CPU time of the page's main thread, which other work of the machine does not lengthen.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import stored
from measuring import Cost, arguments, cost_of, median, report
from playwright.async_api import Page, async_playwright

from pytest_browsereval.browsers.binary import candidates, launch_first
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.model.messages import (
    AssistantMessage,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun

TASKS, PICTURES = 1_000, 10
GOALS = {
    ("tasks", "write_s"): 1.0,
    ("tasks", "open_s"): 0.5,
    ("tasks", "html_mb"): 5.0,
    ("both", "open_s"): 0.5,
    ("both", "html_mb"): 5.0,
    ("attempts", "command_s"): 10.0,
    ("attempts", "peak_mib"): 500.0,
}
"""What a run of 1,000 tasks, one of 20,000 attempts, and two runs of 1,000 tasks may cost."""

SETTLED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
SCROLL = f"""async () => {{
  const height = document.documentElement.scrollHeight;
  for (let top = 0; top < height; top += height / 60) {{
    scrollTo(0, top);
    await ({SETTLED})();
  }}
}}"""
SEARCH = f"""async text => {{
  const field = document.querySelector('#search');
  field.value = text;
  field.dispatchEvent(new Event('input'));
  await new Promise(done => setTimeout(done, 200));
  await ({SETTLED})();
}}"""


SEARCH_TEXTS = """async text => {
  const field = document.querySelector('#search');
  field.value = text;
  field.dispatchEvent(new Event('input'));
  const isDone = () => /of all .* searched/.test(document.querySelector('#searched').textContent);
  do await new Promise(done => setTimeout(done, 50)); while (!isDone());
}"""


def add_pictures(run: Path) -> None:
    """Give each attempt ten steps with a picture each, as an agent leaves them."""
    source = run / "picture.jpeg"
    source.write_bytes(stored.PICTURE)
    for metadata in (run / "tasks").glob("*/*/*/*/metadata.json"):
        folder = metadata.parent
        (folder / "messages.jsonl").unlink()
        shutil.rmtree(folder / "screenshots")
        (folder / "screenshots").mkdir()
        log = MessageLogger(folder)
        log.log(UserMessage(content="Find the product, put it into the basket and check out."))
        for number in range(1, PICTURES + 1):
            (folder / "screenshots" / f"{number:03d}.jpeg").hardlink_to(source)
            _log_step(log, number)
        log.close()
    source.unlink()


def _log_step(log: MessageLogger, number: int) -> None:
    call, usage = f"call-{number}", Usage(input_tokens=4_000, output_tokens=80, requests=1, cost_usd=0.01)
    log.log(AssistantMessage(content="The product is on the second page, so I go there.", usage=usage))
    log.log(ToolCallMessage(tool="click_at", tool_call_id=call, params={"x": 120, "y": 300}, span_id=call))
    log.log(
        ToolResultMessage(
            tool_call_id=call,
            result={"ok": True, "output": "Clicked at 120, 300."},
            is_error=False,
            screenshot=number,
            url=f"http://127.0.0.1:8080/products?page={number}",
            duration_ms=81.5,
            span_id=call,
        )
    )


def written(run: Path, rounds: int) -> dict[str, float]:
    """Return what it costs to write the page."""
    costs: list[Cost] = []
    inside: list[float] = []
    for _ in range(rounds):
        shutil.rmtree(run / "index.files", ignore_errors=True)
        costs.append(cost_of([sys.executable, "-m", "pytest_browsereval", "view", str(run)], run.parent))
        began = time.perf_counter()
        write_viewer(open_door(), run)
        inside.append(time.perf_counter() - began)
    details = sum(file.stat().st_size for file in (run / "index.files").iterdir())
    return {
        "command_s": median([cost.wall_s for cost in costs]),
        "command_cpu_s": median([cost.cpu_s for cost in costs]),
        "peak_mib": median([cost.peak_mib for cost in costs]),
        "write_s": median(inside),
        "html_mb": round((run / "index.html").stat().st_size / 1e6, 2),
        "details_mb": round(details / 1e6, 2),
    }


def compared(run: Path, other: Path, file: Path, rounds: int) -> dict[str, float]:
    """Return what it costs to write the page of two runs."""
    command = [
        sys.executable,
        "-m",
        "pytest_browsereval",
        "compare",
        str(run),
        str(other),
        "--html",
        str(file),
    ]
    costs = [cost_of(command, run.parent) for _ in range(rounds)]
    details = sum(one.stat().st_size for one in file.with_suffix(".files").rglob("*.js"))
    return {
        "command_s": median([cost.wall_s for cost in costs]),
        "command_cpu_s": median([cost.cpu_s for cost in costs]),
        "peak_mib": median([cost.peak_mib for cost in costs]),
        "html_mb": round(file.stat().st_size / 1e6, 2),
        "details_mb": round(details / 1e6, 2),
    }


async def opened(file: Path, rounds: int) -> dict[str, float]:
    """Return what the page costs the browser: to open it, and then to use it."""
    figures: dict[str, list[float]] = {}
    async with async_playwright() as playwright:
        for _ in range(rounds):
            browser, _ = await launch_first(playwright.chromium, candidates())
            page = await browser.new_page(viewport={"width": 1280, "height": 900})
            for name, value in (await _used(page, file)).items():
                figures.setdefault(name, []).append(value)
            await browser.close()
    return {name: median(values) for name, values in figures.items()}


async def _used(page: Page, file: Path) -> dict[str, float]:
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    spent = 0.0

    async def since() -> float:
        nonlocal spent
        reply = await session.send("Performance.getMetrics")
        named: dict[str, float] = {one["name"]: one["value"] for one in reply["metrics"]}
        before, spent = spent, sum(named[f"{n}Duration"] for n in ("Script", "RecalcStyle", "Layout"))
        return spent - before

    began = time.perf_counter()
    await page.goto(file.as_uri())
    await page.evaluate(SETTLED)
    found = {"open_wall_s": time.perf_counter() - began, "open_s": await since()}
    await page.evaluate(SCROLL)
    found["scroll_ms_a_frame"] = 1000 * await since() / 60
    await page.evaluate(SEARCH, "product 77")
    found["search_ms"] = 1000 * await since()
    began = time.perf_counter()
    await page.evaluate(SEARCH_TEXTS, "the basket and check out")  # of the prompts, beside the page
    found["search_texts_wall_s"] = time.perf_counter() - began
    found["search_texts_s"] = await since()
    began = time.perf_counter()
    await page.evaluate("() => document.querySelector('#clear').click()")
    await page.evaluate("() => { location.hash = document.querySelector('#rows a').getAttribute('href'); }")
    await page.wait_for_function("() => document.querySelector('#attempt').ariaBusy === 'false'")
    found["attempt_wall_ms"] = 1000 * (time.perf_counter() - began)
    found["attempt_ms"] = 1000 * await since()
    return found


def run_of(folder: Path, name: str, attempts: int) -> Path:
    """Return a run of so many attempts; one that is there is taken."""
    run = folder / name
    if not run.exists():
        stored.make_run(run, attempts, bad=5)
        if name != "attempts":
            add_pictures(run)
        store = RunStore(run)
        store.write_summary({"selected": attempts, "skipped": 0, **StoredRun(store.root).summary.as_json()})
    return run


def main() -> None:
    """Write and open the pages of two runs, and one of two."""
    parser = arguments(__doc__ or "", rounds=3)
    parser.add_argument("--attempts", type=int, default=20_000)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the runs here, and use those there")
    options = parser.parse_args()
    folder = (options.keep or Path(tempfile.mkdtemp())).absolute()
    figures: dict[str, dict[str, Any]] = {}
    try:
        for name, attempts in (("tasks", TASKS), ("attempts", options.attempts)):
            run = run_of(folder, name, attempts)
            figures[name] = {"attempts": attempts, **written(run, options.rounds)}
            figures[name].update(asyncio.run(opened(run / "index.html", options.rounds)))
        both = run_of(folder, "tasks", TASKS), run_of(folder, "others", TASKS)
        page = folder / "both.html"
        figures["both"] = {"attempts": 2 * TASKS, **compared(*both, page, options.rounds)}
        figures["both"].update(asyncio.run(opened(page, options.rounds)))
    finally:
        if options.keep is None:
            shutil.rmtree(folder)
    goals = {
        f"{name}: {field}": {"goal": goal, "is_met": figures[name][field] <= goal}
        for (name, field), goal in GOALS.items()
    }
    report({**figures, "goals": goals}, options.json)


if __name__ == "__main__":
    main()
