"""Runs of many tasks in one process: what is over leaves nothing in memory."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, errored_row, row

LOOK = """
import gc, json, time
from collections import Counter
from pathlib import Path
import pytest

KINDS = {
    "pytest_browsereval": {"Course", "CaptureContext", "MessageLogger", "PlaywrightWindow", "OpenTab",
                           "Toolbox", "AgentContext", "TaskMetadata", "AgentResult"},
    "playwright": {"BrowserContext", "Page", "Frame"},
}
found = {}

def look():
    gc.collect()
    kinds = Counter((str(type(one).__module__).partition(".")[0], type(one).__name__)
                    for one in gc.get_objects())
    return {name: count for (home, name), count in kinds.items() if name in KINDS.get(home, ())}

def pytest_browsereval_message(message):
    if type(message).__name__ == "ToolResultMessage" and not found:
        found["during"] = look()

@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop():
    result = yield
    deadline = time.monotonic() + 30  # what is just ending may end
    while (late := look()) and time.monotonic() < deadline:
        time.sleep(0.3)
    Path("looked.json").write_text(json.dumps({**found, "late": late}))
    return result
"""


@pytest.mark.slow
def test_nothing_stays_of_what_is_over(evals: Evals) -> None:
    """After passed, failed and errored rows: no window and no attempt is in memory."""
    page = "data:text/html,<button onclick='open(`about:blank`)'>Open</button>"
    steps = [{"tool": "click", "target": "text=Open"}, {"tool": "done", "answer": "right"}]
    evals.write_rows(
        *(row(f"opens-{n}", start_url=page, solution=steps) for n in range(3)),
        row("wrong", says="wrong"),
        errored_row("gone"),
    )
    evals.write_config(browser="playwright")
    evals.path.joinpath("conftest.py").write_text(LOOK)
    evals.run_process("shop.eval.yaml").assert_outcomes(passed=3, failed=1, errors=1)
    found = json.loads((evals.path / "looked.json").read_text())
    assert {"Course", "CaptureContext", "PlaywrightWindow", "Toolbox", "Page"} <= set(found["during"])
    assert found["late"] == {}
