"""Runs of many tasks in one process: what is over leaves nothing open and nothing in memory."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, errored_row, row

LOOK = """
import asyncio, gc, json, threading, time
from collections import Counter
from pathlib import Path
import psutil, pytest

OURS = {"Course", "CaptureContext", "MessageLogger", "PlaywrightWindow", "OpenTab", "Toolbox",
        "AgentContext", "TaskMetadata", "AgentResult"}
THEIRS = {"BrowserContext", "Page", "Frame"}
found = {}

def look():
    gc.collect()
    every = gc.get_objects()
    kinds = Counter((str(type(one).__module__).partition(".")[0], type(one).__name__) for one in every)
    return {
        "kept": {name: n for (home, name), n in kinds.items()
                 if home == "pytest_browsereval" and name in OURS or home == "playwright" and name in THEIRS},
        "open": {
            "sessions": kinds["playwright", "CDPSession"],
            # By type(): openai has lazy stand-ins for pandas and numpy, which isinstance() would import.
            "tasks": sum(issubclass(type(one), asyncio.Task) and not one.done() for one in every),
            "files": psutil.Process().num_fds(),
            # asyncio's own pool makes up to a fixed number, whenever one has not told yet that it is free.
            "threads": sum(not one.name.startswith("asyncio_") for one in threading.enumerate()),
        },
    }

def rest(is_done):
    # Attempts that run ahead come to their end, and what a browser has opened for itself closes again.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(0.3)
        if not any(Path.cwd().glob("results/*/*/in-flight/*")) and is_done(seen := look()):
            return seen
    return look()

def pytest_browsereval_message(message):
    if type(message).__name__ == "ToolResultMessage" and "during" not in found:
        found["during"] = look()

def pytest_runtest_logfinish(nodeid):
    if nodeid.endswith("second"):
        found["early"] = rest(lambda seen: "BrowserContext" not in seen["kept"])

@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop():
    result = yield
    before = found["early"]["open"]
    found["late"] = rest(lambda seen: all(seen["open"][name] <= before[name] for name in before))
    Path("looked.json").write_text(json.dumps(found))
    return result
"""


def check_that_nothing_stays(evals: Evals) -> None:
    """Compare the time after the second item, and the attempts ahead of it, with that after the last one."""
    found = json.loads((evals.path / "looked.json").read_text())
    during = found["during"]["kept"]
    assert {"Course", "CaptureContext", "MessageLogger", "PlaywrightWindow", "Toolbox", "Page"} <= set(during)
    assert found["late"]["kept"] == {}, found
    before, after = found["early"]["open"], found["late"]["open"]
    assert all(after[name] <= before[name] for name in before), found


@pytest.mark.slow
def test_nothing_stays_of_what_is_over(evals: Evals) -> None:
    """After passed, failed and errored rows: no window, task, file, thread, and no attempt in memory."""
    page = "data:text/html,<button onclick='open(`about:blank`)'>Open</button>"
    steps = [{"tool": "click", "target": "text=Open"}, {"tool": "done", "answer": "right"}]
    names = ("first", "second", "third", "fourth")
    evals.write_rows(
        *(row(name, start_url=page, solution=steps) for name in names),
        *(row(f"wrong-{n}", says="wrong") for n in range(3)),
        *(errored_row(f"gone-{n}") for n in range(2)),
        row("last", start_url=page, solution=steps),
    )
    evals.write_config(browser="playwright")
    evals.path.joinpath("conftest.py").write_text(LOOK)
    evals.run_process("shop.eval.yaml").assert_outcomes(passed=5, failed=3, errors=2)
    check_that_nothing_stays(evals)
