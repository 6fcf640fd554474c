"""Ten breakages of a shop by ten mistakes of an agent: each failure is blamed on the right one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.features.probe.breaking_shop import BREAKAGES
from tests.hooks.small_evals import Evals

pytestmark = pytest.mark.slow

AGENT = """
MUG, CUP = 'role=link[name="Mug"]', 'role=link[name="Cup"]'
ADD, ORDER = 'role=button[name="Add to cart"]', 'role=button[name="Order"]'

def click(target):
    return "click", {"target": target}

def fill(text):
    return "fill", {"target": "label=Quantity", "text": text}

def wait(text):
    return "wait_for_text", {"text": text}

WAY = [click(MUG), fill("2"), click(ADD), click(ORDER)]
MISTAKES = [
    ([], "$8.00"),                                              # does nothing
    ([click(MUG), fill("1"), click(ADD), click(ORDER)], "$10.00"),   # one mug
    ([], "$10.00"),                                             # claims what it has not done
    ([*WAY, wait("Order placed")], "$20.00"),                   # a wrong answer
    (WAY[:3], "$10.00"),                                        # leaves it in the cart
    (WAY[:2], None),                                            # gives up
    ([click('role=link[name="About"]')], "$10.00"),             # another page
    ([click(CUP), *WAY[1:]], "$10.00"),                         # another thing
    ([click(MUG), fill("two"), click(ADD)], "$10.00"),          # no number
    ([*WAY, wait("Order placed"), ("go_back", {})], "$10.00"),  # leaves the page
]

async def solve(context):
    steps, answer = MISTAKES[int(context.task_output_dir.parent.name) - 1]
    for name, arguments in steps:
        if not (await context.tools.call(name, arguments)).ok:
            return None
    return answer
"""


SERVER = Path(__file__).with_name("breaking_shop.py")
WAY: list[dict[str, Any]] = [
    {"tool": "click", "target": 'role=link[name="Mug"]'},
    {"tool": "fill", "target": "label=Quantity", "text": "2"},
    {"tool": "click", "target": 'role=button[name="Add to cart"]'},
    {"tool": "click", "target": 'role=button[name="Order"]'},
    {"tool": "wait_for_text", "text": "Order placed: $10.00", "timeout_s": 3},
    {"tool": "done", "answer": "$10.00"},
]


def write(evals: Evals, code: str, *names: str, **more: Any) -> None:
    """Write rows that order two mugs, each in its own copy of the shop, and an agent."""
    (evals.path / "clumsy.py").write_text(code)
    row = {
        "query": "Order two mugs and say what they cost.",
        "graders": ["answer", "page_state"],
        "answer": "$10.00",
        "checks": [{"text": "Order placed: $10.00"}],
        **more,
    }
    evals.write(
        [{**row, "query_id": name, "start_url": f"{{shop}}/{name}/"} for name in names],
        agent={"type": "function", "function": "clumsy:solve"},
        sites={"shop": {"command": ["{python}", str(SERVER), "{port}", "broken.txt"], "reset": "GET /"}},
        browser={"type": "playwright", "action_timeout_ms": 3000},
        probe="failed",
        lanes=4,
        capture={"screenshots": "off"},
    )


def test_a_hundred_failures_on_a_broken_site_are_the_site_s(evals: Evals) -> None:
    """Ten breakages by ten mistakes, and ten mistakes on the same shop while it works."""
    write(evals, AGENT, *BREAKAGES, solution=WAY)
    assert evals.run("shop.eval.yaml", "--eval-agent=scripted").ret == 0
    healthy = evals.run("shop.eval.yaml", "--eval-trials=10")
    (evals.path / "broken.txt").write_text(" ".join(BREAKAGES))
    broken = evals.run("shop.eval.yaml", "--eval-trials=10")
    found = {
        kind: Counter(
            str(one.error_source or (one.probe.outcome if one.probe else one.verdict)) for one in run.attempts
        )
        for kind, run in (("healthy", healthy), ("broken", broken))
    }
    assert found == {"healthy": {"works": 100}, "broken": {"site": 100}}, [
        (one.query_id, one.trial, one.reason, one.known_way)
        for one in broken.attempts
        if one.error_source != "site"
    ]
