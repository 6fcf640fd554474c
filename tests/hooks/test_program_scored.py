"""A benchmark that a program scores, as users run it: rows as published, a site of this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import Evals

AGENT = """
async def solve(context):
    await context.tools.call("click", {"target": "#go"})
    return "17"
"""

SHOP = """<!doctype html><button id="go" onclick="localStorage.item = 'Blue mug'">Order</button>"""
FINISH = """<!doctype html><script>
document.write('<pre>' + JSON.stringify({orders: [localStorage.item ?? null]}) + '</pre>')</script>"""


def task(number: int, item: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"shop-{number}",
        "goal": "Order it.",
        "website": {"id": "shop", "url": "https://shop.invalid"},
        "difficulty": "easy",
        "challengeType": "action",
        "possible": True,
        "evals": [{"type": "jmespath", "query": "orders[0]", "expected_value": item}],
        "points": 1,
        "config": {},
        "version": "v1",
        **more,
    }


@pytest.mark.slow
def test_states_are_read_and_scored(evals: Evals) -> None:
    """Of a clone in the window; what is left out is told, and all can be graded again when it has gone."""
    files = {
        "my_agent.py": AGENT,
        "clone/index.html": SHOP,
        "clone/finish/index.html": FINISH,
        "real/shop-1.json": json.dumps(task(1, "Blue mug")),
        "real/shop-2.json": json.dumps(task(2, "Red mug")),
        "real/shop-3.json": json.dumps(task(3, "Red mug", possible=False)),
    }
    for name, text in files.items():
        path = evals.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    evals.write_config(
        browser="playwright",
        agent=FUNCTION,
        dataset=[{"type": "agisdk", "path": "real", "urls": {"shop": "{shop}"}}],
        sites={"shop": {"static": "clone"}},
    )
    result = evals.run()
    told = {each["query_id"]: each["verdict"] for each in evals.summary()["results"]}
    assert told == {"agisdk-shop-1": "passed", "agisdk-shop-2": "failed"}, result.stdout.str()
    note = "*REAL: 1 row left out (the benchmark says that they are infeasible): shop-3*"
    result.stdout.fnmatch_lines([note, "*agisdk: 0 of 1 checks passed (strict strings); orders*"])
    (evals.path / "clone/index.html").write_text("Gone")
    again = evals.run("--eval-config=shop.eval.yaml", "--eval-regrade=latest")
    again.stdout.fnmatch_lines(["regraded 2 attempts: 2 unchanged"])
