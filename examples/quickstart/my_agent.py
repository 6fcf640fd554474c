"""An agent in a few lines: it looks for the product in the snapshot, opens it and reads the price."""

from __future__ import annotations

import re

from pytest_browsereval import AgentContext


async def solve(context: AgentContext) -> str:
    """Answer "What does the ... cost?"."""
    product = re.findall(r"the (.+) cost", context.task.query)[0]
    page = await context.tools.call("snapshot")
    ref = re.findall(rf'link "{product}".*\[ref=(\w+)\]', page.output)[0]
    await context.tools.call("click", {"target": ref})
    page = await context.tools.call("read_text", {"target": "main"})
    return str(re.findall(r"\$[\d.]+", page.output)[0])
