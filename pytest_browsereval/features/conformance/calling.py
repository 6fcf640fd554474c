"""Conformance of tools: what an attempt relies on when it calls them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_browsereval.browsers.base import BrowserConfig, Window, WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.conformance.site import ConformanceSite
from pytest_browsereval.tools.base import Tool, ToolError, ToolResult
from pytest_browsereval.tools.runner import runner_for

UNKNOWN = "no_such_argument"

Arguments = Mapping[str, Any]


@asynccontextmanager
async def open_window(
    start_url: str | None = None, browser: BrowserConfig | None = None
) -> AsyncIterator[Window]:
    """Open a window to call tools in, with a browser of its own.

    Args:
        start_url: None opens a page with a button and a link, on this machine.
        browser: None is a Chromium without a screen.
    """
    running = (browser or PlaywrightBrowserConfig()).prepare(Path.cwd()).build()
    with ConformanceSite() as site:
        await running.start()
        try:
            window = await running.open_window(WindowRequest("tools", start_url or f"{site.url}/"))
            try:
                yield window
            finally:
                await window.close()
        finally:
            await running.close()


async def check_calls(
    tool: Tool, window: Window, *, good: Sequence[Arguments], bad: Sequence[Arguments] = ()
) -> None:
    """Assert that a tool keeps its contract when it is called.

    The contract: with good arguments it says in a text of its own what it has done; with bad ones it
    refuses, by :class:`ToolError` or by its schema, and raises nothing else. Unknown arguments, and required
    ones that are missing, are tried as well::

        async def work():
            async with open_window() as window:
                await check_calls(write_note, window, good=[{"text": "milk"}], bad=[{"text": ""}])

        asyncio.run(work())

    Args:
        tool: is called once with each of the arguments, in this order.
        window: where; the tool may change its page.
        good: arguments that it has to take, at least one set: ``{}`` for a tool that has none.
        bad: arguments that it has to refuse.

    Raises:
        AssertionError: it does not; all problems are named.
        ValueError: there are no good arguments.
    """
    if not good:
        raise ValueError("give at least one set of good arguments: {} for a tool that has none")
    problems: list[str] = []
    # Good arguments first: a bad call may leave the page in a state where good ones fail.
    tries = [(each, True) for each in good] + [(each, False) for each in (*bad, *_wrong(tool, good[0]))]
    for arguments, is_good in tries:
        found = await _find_problems(tool, window, arguments, is_good=is_good)
        problems += [f"with {json.dumps(arguments, default=repr):.200}: {problem}" for problem in found]
        # Every further call would report the dead window again.
        if window.dead:
            break
    if problems:
        raise AssertionError(f"tool {tool.name!r}: " + "; ".join(problems))


def _wrong(tool: Tool, good: Arguments) -> Iterator[Arguments]:
    """Yield arguments that no tool takes: one too many, one too few."""
    yield {**good, UNKNOWN: 1}
    for name in tool.schema.get("required", ()):
        yield {key: value for key, value in good.items() if key != name}


async def _find_problems(tool: Tool, window: Window, arguments: Arguments, *, is_good: bool) -> list[str]:
    """Call a tool as an attempt does it, with an eye on its body; return what is wrong."""
    # Faults of the body are kept: the runner turns some of them into ordinary refusals.
    seen: list[str] = []

    async def body(window: Window, **values: Any) -> str:
        try:
            output: object = await tool.body(window, **values)
        except (ToolError, NoTab, playwright_error()):
            raise  # the runner makes refusals of these, so they are allowed
        except Exception as error:
            seen.append(f"it raises {type(error).__name__}: {error}")
            raise
        if not isinstance(output, str):
            seen.append(f"it returns {output!r:.80}, which is not a string")
        return str(output)

    try:
        values = tool.check_arguments(dict(arguments))
        result = await runner_for(window)(replace(tool, body=body), values)
    except (ValueError, ToolError) as error:
        result = ToolResult(ok=False, output=str(error))
    except Fault as error:
        return seen or [f"the window has died: {error}"]
    except Exception as error:  # noqa: BLE001 the author gets a report of any error
        return seen or [f"it raises {type(error).__name__}: {error}"]
    if is_good and not result.ok:
        seen = seen or [f"it refuses good arguments: {result.output}"]
    elif result.ok and not is_good:
        seen = seen or [f"it accepts bad arguments, and says: {result.output}"]
    return seen if result.output.strip() else [*seen, "its output is empty; say what was done, or why not"]
