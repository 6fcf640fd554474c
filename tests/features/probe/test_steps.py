"""Rows without a solution: the steps of an attempt that has passed are their known way."""

from __future__ import annotations

import pytest

from pytest_browsereval.runs.run import StoredRun
from tests.features.probe.small_shop import outcome
from tests.features.probe.test_breakages import WAY, write
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


def test_the_steps_of_a_pass_are_the_way_of_a_row_without_a_solution(evals: Evals) -> None:
    """Elements by role and name, without what failed and without looks, on the address of the day."""
    write(evals, AGENT, "renamed")
    passed = evals.run("shop.eval.yaml")
    assert outcome(passed.attempt("renamed")) == ("passed", "")
    (evals.path / "is_lazy.txt").touch()
    run = evals.run("shop.eval.yaml")
    record = run.attempt("renamed")
    assert outcome(record) == ("failed", "works")
    assert record.probe
    (played,) = StoredRun(run.folder / record.probe.place).attempts
    assert played.task
    assert played.task.solution == (
        WAY[0],
        {"tool": "fill", "target": 'role=textbox[name="Quantity"]', "text": "2"},
        *WAY[2:4],
        {"tool": "wait_for_text", "text": "Order placed", "timeout_s": 3},
        WAY[-1],
    )
    (evals.path / "broken.txt").write_text("renamed")
    record = evals.run("shop.eval.yaml").attempt("renamed")
    assert outcome(record) == ("errored", "broken")
    assert record.reason.endswith('step 3 of it: nothing matches role=button[name="Add to cart"]')


PAGE = """<title>Desk</title><p>Code <b id=code></b></p><h1></h1>
<label>Code <input oninput="show(this.value === code.textContent)"></label>
<button onclick="setTimeout(show, 4000, true)">Start</button>
<script>
const show = (isDone) => { document.querySelector('h1').textContent = isDone ? 'Finished' : ''; };
code.textContent = crypto.randomUUID().replace(/[0-9-]/g, '') + 'x';
show(location.hash === '#' + performance.timeOrigin);
window.name ||= performance.timeOrigin;
addEventListener('hashchange', () => show(location.hash === '#' + window.name));
</script>"""
HANDS = """
import asyncio

async def solve(context):
    call, how = context.tools.call, context.task.query_id
    if (context.base_dir / "is_lazy.txt").exists():
        return "Done."
    if how == "code":
        shown = (await call("read_text", {"target": "#code"})).output.strip()
        await call("fill", {"target": "label=Code", "text": shown})
    elif how == "number":
        known = await context.window.page.evaluate("window.name")
        await call("navigate", {"url": f"{context.task.start_url}#{known}"})
    else:
        await call("click", {"target": "role=button[name='Start']"})
        await asyncio.sleep(5)  # as a model that thinks
        await call("read_text", {})
    return "Done."
"""


def test_what_a_pass_has_from_its_own_page_is_no_proof(evals: Evals, subtests: pytest.Subtests) -> None:
    """What it typed and opened was of that day, and the page had the time of its pauses: nothing broke."""
    (evals.path / "hands.py").write_text(HANDS)
    (evals.path / "site").mkdir()
    (evals.path / "site" / "index.html").write_text(PAGE)
    about = {"query": "Finish it.", "start_url": "{desk}/", "checks": [{"text": "Finished"}]}
    evals.write(
        [{"query_id": name, "graders": ["page_state"], **about} for name in ("code", "number", "pause")],
        agent={"type": "function", "function": "hands:solve"},
        sites={"desk": {"static": "site"}},
        browser="playwright",
        probe="failed",
    )
    assert evals.run("shop.eval.yaml").ret == 0
    (evals.path / "is_lazy.txt").touch()
    run = evals.run("shop.eval.yaml")
    for name, found in (("code", "unproved"), ("number", "unproved"), ("pause", "undecided")):
        with subtests.test(name):
            assert outcome(run.attempt(name)) == ("failed", found)
