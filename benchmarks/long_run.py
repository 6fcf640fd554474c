"""What is left behind by 1,000 tasks in one process: memory of Python, driver and browser, and what is open.

Quick tasks on a local site in a real Chromium. This file is also the pytest plug-in that takes the samples
(``-p long_run``): after so many items it waits until no attempt is in flight, collects garbage and looks.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from measuring import arguments, report

GOAL_MIB = 20.0
AHEAD = 40
"""More rows than are counted, so that as many attempts have run ahead at the last sample as at the first."""
SPREAD = 2
"""Sockets, threads and the like come and go with the browser's own work: a leak is one for each task."""
COUNTED = ("contexts", "pages", "asyncio_tasks", "file_handles", "threads", "attempts", "windows", "captures")
POOL = "asyncio_"
"""How threads of asyncio's own pool are named: it fills up as work comes, to cores and four."""
DRAIN_S = 60.0
SAMPLES = "LONG_RUN_SAMPLES"
"""The variable that names the items after which a sample is taken, and the file for what was found."""

PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1>
<button onclick="document.title = 'Bought'; this.textContent = 'Bought'">Buy</button>
"""


# -- the plug-in


class Sampler:
    """Looks at its own process after some items.

    Args:
        at: after how many.
        file: where the samples are written, a line for each.
    """

    def __init__(self, at: list[int], file: Path) -> None:
        self._at = at
        self._file = file
        self._done = 0

    def pytest_runtest_logfinish(self) -> None:
        """Count an item, and look if it is time to."""
        self._done += 1
        if self._done in self._at:
            _drain()
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"items": self._done, **_sample()}) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Register the sampler in a run that was started by this benchmark."""
    if SAMPLES in os.environ:
        at, file = json.loads(os.environ[SAMPLES])
        config.pluginmanager.register(Sampler(at, Path(file)))


def _drain() -> None:
    """Wait until the attempts that run ahead are over."""
    deadline = time.monotonic() + DRAIN_S
    while any(Path.cwd().glob("results/*/*/in-flight/*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)


def _sample() -> dict[str, Any]:
    gc.collect()
    process = psutil.Process()
    kinds = Counter(_kind(thing) for thing in gc.get_objects())
    of_playwright: Counter[str] = Counter()
    for kind, count in kinds.items():
        if kind.startswith("playwright._impl."):  # whose modules have had several names
            of_playwright[kind.rpartition(".")[2]] += count
    memory: dict[str, float] = {"python_mib": _pss(process)}
    for child in process.children(recursive=True):
        name = "driver_mib" if "node" in child.name() else "browser_mib"
        memory[name] = round(memory.get(name, 0) + _pss(child), 2)
    # By type(): openai has lazy stand-ins for pandas and numpy, which isinstance() would import.
    tasks = [
        thing for thing in gc.get_objects() if issubclass(type(thing), asyncio.Task) and not thing.done()
    ]
    return {
        **memory,
        "contexts": of_playwright["BrowserContext"],
        "pages": of_playwright["Page"],
        "asyncio_tasks": len(tasks),
        "file_handles": process.num_fds(),
        "threads": sum(not thread.name.startswith(POOL) for thread in threading.enumerate()),
        "attempts": kinds["pytest_browsereval.run.attempt.Course"],
        "windows": kinds["pytest_browsereval.browsers.playwright.windows.PlaywrightWindow"],
        "captures": kinds["pytest_browsereval.capture.context.CaptureContext"],
        "objects": sum(kinds.values()),
        "kinds": dict(kinds.most_common(400)),
        "modules": sorted(sys.modules),
    }


def _kind(thing: object) -> str:
    kind = type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


def _pss(process: psutil.Process) -> float:
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return round(next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024, 2)


# -- the runs


def scripted(number: int) -> dict[str, Any]:
    """Return what a row of a scripted agent does."""
    steps = [{"tool": "click", "target": "text=Buy"}, {"tool": "done", "answer": f"bought {number}"}]
    return {"solution": steps}


def failing(number: int) -> dict[str, Any]:
    """Return the same with a wrong answer: each item is failed, and its explanation is kept."""
    return {
        "solution": [{"tool": "click", "target": "text=Buy"}, {"tool": "done", "answer": f"no {-number}"}]
    }


def modelled(number: int) -> dict[str, Any]:
    """Return nothing: a model decides."""
    del number
    return {}


KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "scripted": scripted,
    "failing": failing,
    "model": modelled,
}


def _write(folder: Path, kind: str, rows: int, lanes: int, agent: dict[str, Any]) -> None:
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text(PAGE)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            row = {
                "query_id": f"shop-{number:05d}",
                "query": f"Buy product {number}.",
                "dataset": "shop",
                "graders": ["answer"],
                "answer": f"bought {number}",
                "start_url": "{shop}/",
                **KINDS[kind](number),
            }
            file.write(json.dumps(row) + "\n")
    config = {
        "agent": agent,
        "dataset": "rows.jsonl",
        "sites": {"shop": {"static": "site"}},
        "lanes": lanes,
        "retries": 0,
    }
    (folder / "long.eval.json").write_text(json.dumps(config))


def _model(stack: ExitStack) -> dict[str, Any]:
    """Start a model in this process, not in that which is looked at, and return the agent's block."""
    from pytest_browsereval.testing import ScriptedModel, call, calls, done

    def reply(request: Any) -> Any:
        number = request.text.partition("Buy product ")[2].partition(".")[0]
        if any(message["role"] == "tool" for message in request.messages):
            return done(f"bought {number}")
        return calls(call("click", target="text=Buy"))

    server = stack.enter_context(ScriptedModel(reply))
    return {"type": "single", "model": "scripted", "base_url": server.base_url, "api_key": "none"}


def run(kind: str, tasks: int, first: int, lanes: int) -> list[dict[str, Any]]:
    """Run so many tasks and return the samples."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        agent = _model(stack) if kind == "model" else {"type": "scripted"}
        _write(folder, kind, tasks + AHEAD, lanes, agent)
        samples, quiet = folder / "samples.jsonl", ["-q", "--tb=no", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *quiet, "-p", "browsereval", "-p", "long_run"]
        env = {
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(Path(__file__).parent),
            SAMPLES: json.dumps([[first, tasks], str(samples)]),
        }
        done = subprocess.run(
            [*command, "long.eval.json"], check=False, cwd=folder, env=env, capture_output=True, text=True
        )
        if done.returncode not in (0, 1):
            sys.exit(f"pytest ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
        _check(folder, "failed" if kind == "failing" else "passed", done.stdout)
        return [json.loads(line) for line in samples.read_text().splitlines()]


def _check(folder: Path, verdict: str, output: str) -> None:
    """End the benchmark unless every row came to what it was written for."""
    (file,) = folder.glob("results/*/*/summary.json")
    summary = json.loads(file.read_bytes())
    if summary[verdict] != summary["selected"]:
        sys.exit(f"{summary[verdict]} of {summary['selected']} rows {verdict}:\n{output[-3000:]}")


def grown(before: dict[str, Any], after: dict[str, Any], most: int = 12) -> Iterator[tuple[str, int]]:
    """Yield of which kinds of objects there are more than before, the most numerous ones first."""
    more = Counter(after["kinds"])
    more.subtract(before["kinds"])
    yield from ((kind, count) for kind, count in more.most_common(most) if count > 0)


def compared(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what has grown between two samples, and whether that is within the goals."""
    figures = {
        name: [before[name], after[name]] for name in before if name not in ("kinds", "items", "modules")
    }
    growth = round(after["python_mib"] - before["python_mib"], 2)
    left = {name: after[name] - before[name] for name in COUNTED if after[name] - before[name] > SPREAD}
    late = set(after["modules"]) - set(before["modules"])
    return {
        **figures,
        "python_growth_mib": growth,
        "left_behind": left,
        "is_met": growth < GOAL_MIB and not left,
        "imported": dict(Counter(name.partition(".")[0] for name in late)),
        "more_objects": dict(grown(before, after)),
    }


def main() -> None:
    """Run every kind of task once and compare the first sample with the last."""
    parser = arguments(__doc__ or "", rounds=1)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument(
        "--first", type=int, default=100, help="after how many tasks the first sample is taken"
    )
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for kind in options.kinds:
        for number in range(options.rounds):
            samples = run(kind, options.tasks, options.first, options.lanes)
            figures[kind if options.rounds == 1 else f"{kind} {number + 1}"] = compared(*samples)
    settings = {"tasks": options.tasks, "first": options.first, "lanes": options.lanes, "goal_mib": GOAL_MIB}
    report({**settings, **figures}, options.json)


if __name__ == "__main__":
    main()
