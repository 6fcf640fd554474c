"""Three agents for the to-do list: asynchronous, synchronous, and one with a mistake."""

from __future__ import annotations

import re

from pytest_browsereval import AgentContext, SyncAgentContext


async def solve(context: AgentContext) -> str:
    """Do what the quoted words of the task name; answer with the number of open tasks."""
    names = re.findall(r"'(.+?)'", context.task.query)
    if names and "done" in context.task.query:
        await context.tools.call("click", {"target": f'role=button[name="Finish {names[0]}"]'})
    elif names:
        await context.tools.call("fill", {"target": "label=New task", "text": names[0]})
        await context.tools.call("click", {"target": 'role=button[name="Add"]'})
    page = await context.tools.call("read_text", {"target": "role=status"})
    return page.output


def solve_in_a_thread(context: SyncAgentContext) -> str:
    """Only read: synchronous code gets the same tools and waits for them."""
    return context.tools.call("read_text", {"target": "role=status"}).output


async def hurry(context: AgentContext) -> str:
    """Type the new task and never press the button."""
    if names := re.findall(r"'(.+?)'", context.task.query):
        await context.tools.call("fill", {"target": "label=New task", "text": names[0]})
    return "1 open"
