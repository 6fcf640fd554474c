"""Rows without a solution: the steps of an attempt that has passed are their known way."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.runs.run import StoredRun
from tests.features.probe.small_shop import outcome
from tests.hooks.small_evals import Evals

pytestmark = pytest.mark.slow

AGENT = """
import re

async def ref(context, name):
    shown = (await context.tools.call("snapshot", {})).output
    found = re.search(rf'- \\w+ "{name}"[^\\n]*?\\[ref=(\\w+)\\]', shown)
    return found[1] if found else "e999"

async def solve(context):
    if (context.base_dir / "is_lazy.txt").exists():
        return "$10.00"
    for name, tool, more in (
        ("Mug", "click", {}), ("Nothing", "click", {}), ("Quantity", "fill", {"text": "2"}),
        ("Add to cart", "click", {}), ("Order", "click", {}),
    ):
        await context.tools.call(tool, {"target": await ref(context, name), **more})
    await context.tools.call("wait_for_text", {"text": "Order placed", "timeout_s": 3})
    return "$10.00"
"""
SERVER = Path(__file__).with_name("breaking_shop.py")


def test_the_steps_of_a_pass_are_the_way_of_a_row_without_a_solution(evals: Evals) -> None:
    """Elements by role and name, without what failed and without looks, on the address of the day."""
    (evals.path / "clumsy.py").write_text(AGENT)
    row = {
        "query_id": "order",
        "query": "Order two mugs and say what they cost.",
        "start_url": "{shop}/renamed/",
        "graders": ["answer", "page_state"],
        "answer": "$10.00",
        "checks": [{"text": "Order placed: $10.00"}],
    }
    evals.write(
        [row],
        agent={"type": "function", "function": "clumsy:solve"},
        sites={"shop": {"command": ["{python}", str(SERVER), "{port}", "broken.txt"], "reset": "GET /"}},
        browser={"type": "playwright", "action_timeout_ms": 3000},
        probe="failed",
    )
    passed = evals.run("shop.eval.yaml")
    assert outcome(passed.attempt("order")) == ("passed", "")
    (evals.path / "is_lazy.txt").touch()
    run = evals.run("shop.eval.yaml")
    record = run.attempt("order")
    assert outcome(record) == ("failed", "works")
    assert record.probe
    (played,) = StoredRun(run.folder / record.probe.place).attempts
    assert played.task
    assert played.task.solution == (
        {"tool": "click", "target": 'role=link[name="Mug"]'},
        {"tool": "fill", "target": 'role=textbox[name="Quantity"]', "text": "2"},
        {"tool": "click", "target": 'role=button[name="Add to cart"]'},
        {"tool": "click", "target": 'role=button[name="Order"]'},
        {"tool": "wait_for_text", "text": "Order placed", "timeout_s": 3},
        {"tool": "done", "answer": "$10.00"},
    )
    (evals.path / "broken.txt").write_text("renamed")
    record = evals.run("shop.eval.yaml").attempt("order")
    assert outcome(record) == ("errored", "broken")
    assert record.reason.endswith('step 3 of it: nothing matches role=button[name="Add to cart"]')
