"""Plays one attempt with browser-use, in the browser of the attempt, and tells what it does line by line.

Run by the Python of a virtual environment that has browser-use: ``agent.py TASK CDP_URL MAX_STEPS``. The
model is in the variables ``MODEL``, ``MODEL_URL`` and ``MODEL_KEY``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

# Read when browser_use is imported: nothing goes to its makers, and nothing is written at home.
os.environ.update(
    ANONYMIZED_TELEMETRY="false",
    BROWSER_USE_CLOUD_SYNC="false",
    BROWSER_USE_CLOUD_HINTS="false",
    BROWSER_USE_VERSION_CHECK="false",
    BROWSER_USE_LOGGING_LEVEL="warning",
)
os.environ.setdefault("BROWSER_USE_CONFIG_DIR", "browser-use")

from browser_use import Agent, BrowserSession, ChatOpenAI


def tell(kind: str, **fields: Any) -> None:
    """Print an event of the form that a ``command`` agent reads."""
    print(json.dumps({"type": kind, **fields}), flush=True)


async def tell_step(agent: Agent) -> None:
    """Tell what the model thought and each action of the step that has just ended, with its result."""
    step = agent.history.history[-1]
    if step.model_output is None:
        return
    if goal := step.model_output.next_goal:
        tell("assistant", content=goal)
    for action, result in zip(step.model_output.action, step.result, strict=False):
        ((name, params),) = action.model_dump(exclude_none=True).items()
        if name != "done":
            told = result.error or result.extracted_content or ""
            tell("step", tool=name, params=params, result=told, is_error=result.error is not None)


async def main(task: str, cdp_url: str, max_steps: int) -> None:
    """Run the agent, then tell what it answers and what it used."""
    session = BrowserSession(cdp_url=cdp_url, keep_alive=True)
    model = ChatOpenAI(
        model=os.environ["MODEL"],
        base_url=os.environ["MODEL_URL"],
        api_key=os.environ.get("MODEL_KEY", "none"),
    )
    agent = Agent(task=task, llm=model, browser_session=session, use_judge=False, directly_open_url=False)
    try:
        history = await agent.run(max_steps=max_steps, on_step_end=tell_step)
        if answer := history.final_result():
            tell("answer", content=answer)
        if used := history.usage:
            tell(
                "usage",
                input_tokens=used.total_prompt_tokens,
                output_tokens=used.total_completion_tokens,
                cache_read_tokens=used.total_prompt_cached_tokens,
                requests=used.entry_count,
            )
    finally:
        await session.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
