"""Runs tools in a window: one at a time, within limits, aware of dialogs, tabs and downloads."""

from __future__ import annotations

import asyncio
from typing import Any

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, is_closed_error, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import PLUGIN_ERRORS, ErrorSource, Fault, is_given_up
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.tools.base import KEY_S, Refusal, Tool, ToolError, ToolResult
from pytest_browsereval.tools.errors import explain

HANDLE_DIALOG = "handle_dialog"
"""The one tool that may be called while a dialog is open."""
QUIET = frozenset({"list_tabs"})
"""Tools whose output tells the tabs and addresses anyway."""
MARGIN_S = 2.0
NOTES_LENGTH = 600
BUSY_S = 1.0
"""A browser that takes so long for a trivial answer has too little of the machine: on two idle cores it takes
0.3 s at the most with 32 lanes at work, and beyond 1 s calls began to run out of their time."""
OUTSIDE_S = 300.0
"""How long a tool of a browser that is not ours may take, if the browser's own limit does not end it."""


def runner_for(window: Window) -> OutsideToolRunner:
    """Return what runs tools in a window: ours in our own browsers, the browser's own in others."""
    return WindowToolRunner(window) if isinstance(window, PlaywrightWindow) else OutsideToolRunner(window)


async def _run_body(tool: Tool, window: Window, arguments: dict[str, Any], said: list[str]) -> None:
    """Run a tool's body, note what it says, and wait until the page is at rest.

    What would end the loop, or pass for a call that was cut off, is the tool's error.
    """
    try:
        output = await tool.body(window, **arguments)
    except Exception:
        raise
    except PLUGIN_ERRORS as error:
        if is_given_up(error):
            raise
        raise RuntimeError(repr(error)) from error
    if not isinstance(output, str):
        raise TypeError(f"it returned {output!r:.80}, which is not a string")
    said[0] = well_formed(output)
    if isinstance(window, PlaywrightWindow):
        await window.settle()  # within the time of the call: its result tells where the page is


class OutsideToolRunner:
    """Runs tools in a window, one after the other: those that a browser brings itself.

    Args:
        window: has :meth:`Window.call_tool`.
    """

    def __init__(self, window: Window) -> None:
        self._lock = asyncio.Lock()
        self._window = window

    async def __call__(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool and return the envelope.

        Raises:
            Fault: source *browser*, when the window has died.
        """
        async with self._lock:
            result = await self._run(tool, arguments)
        if self._window.dead:
            raise Fault(ErrorSource.BROWSER, self._window.dead)
        return result

    async def _run(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        said = [""]
        try:
            async with asyncio.timeout(OUTSIDE_S):
                await _run_body(tool, self._window, arguments, said)
        except ToolError as error:
            return ToolResult(ok=False, output=str(error))
        except TimeoutError:
            return ToolResult(ok=False, output=f"{tool.name} took longer than {OUTSIDE_S:g} s.")
        return ToolResult(ok=True, output=said[0])


class WindowToolRunner(OutsideToolRunner):
    """Runs our own tools, in a window of Playwright, and tells what happened next to each call."""

    _window: PlaywrightWindow

    async def _run(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        window = self._window
        if window.dialog is not None and tool.name != HANDLE_DIALOG:
            why = f"{self._open_dialog()} Until then {tool.name} cannot run."
            return ToolResult(ok=False, output=why)
        url, said, window.hit = window.url, [""], None
        with window.pace() as pace:
            # Measured during the call: afterwards nobody could tell a slow page from a slow machine.
            is_ok, hint = await self._try(tool, arguments, said)
        hit = window.hit
        if window.dead is None:
            if not is_ok and pace.slowest_s >= BUSY_S:
                window.warn(_busy(tool.name, pace.slowest_s))
            said += await self._notes(tool, url, " ".join(said))
        return ToolResult(ok=is_ok, output=" ".join(filter(None, said)), hint=hint, hit=hit)

    async def _try(self, tool: Tool, arguments: dict[str, Any], said: list[str]) -> tuple[bool, str]:
        """Run the tool, add to what is said of it, and return whether it has done what it is for.

        With that comes how what is said begins, where that has no word of a page.
        """
        window, limit_s = self._window, self.limit_s(tool, arguments)
        try:
            await window.watch(_run_body(tool, window, arguments, said), limit_s)
        except DialogOpened:
            said.append(self._open_dialog())
        except TimeoutError:
            # The next navigation gets a new page: one that hangs cannot be navigated either.
            window.mark_stuck()
            late = f"{tool.name} took longer than {limit_s:g} s: the page does not react."
            return False, _say(said, Refusal(late))
        except (ToolError, NoTab) as error:
            if not window.url:  # its last page has gone, perhaps with the browser
                await window.look()
            return False, _say(said, error)
        except playwright_error() as error:
            # Playwright says "closed" of a closed tab and of a dead browser.
            if is_closed_error(error):
                await window.look()
            return False, _say(said, explain(error, arguments))
        return True, ""

    def limit_s(self, tool: Tool, arguments: dict[str, Any]) -> float:
        """Return how long a call may take; its own waits are shorter, so that they report first."""
        rules = self._window.rules
        asked = sum(float(arguments.get(name) or 0) for name in ("seconds", "timeout_s", "duration_s"))
        times = max(len(arguments.get("keys") or ()), len(arguments.get("then") or ()) + 1)
        held = float(arguments.get("hold_ms") or 0) / 1000 * times * int(arguments.get("click_count") or 1)
        typed = KEY_S * len(str(arguments.get("text") or ""))
        own = rules.navigation_s if tool.may_take_long else rules.action_s
        return max(asked, own) + held + typed + rules.load_s + MARGIN_S

    async def _notes(self, tool: Tool, url_before: str, output: str) -> list[str]:
        window = self._window
        notes = [note for note in await window.take_notes() if note not in output]
        where, told = shorten(window.url), " ".join((output, *notes))
        is_told = where in told or (where.startswith("chrome-error:") and "did not load" in told)
        if window.url != url_before and not is_told and tool.name not in QUIET:
            notes.insert(0, f"The page is now {where}.")
        text = " ".join(notes)
        return [text if len(text) <= NOTES_LENGTH else f"{beginning(text, NOTES_LENGTH)}…"]

    def _open_dialog(self) -> str:
        dialog = self._window.dialog
        if dialog is None:
            return "A dialog opened and has gone again."
        asked = f", with {shorten(dialog.default_value, 40)!r} filled in" if dialog.default_value else ""
        return (
            f"The page shows a dialog: {dialog.type} {shorten(dialog.message, 80)!r}{asked}. "
            f"Call {HANDLE_DIALOG} to answer it."
        )


def _say(said: list[str], error: ToolError | NoTab) -> str:
    """Add an error to what is said of a call; return it if it is all that is said and no page wrote in it."""
    said.append(str(error))
    return str(error) if isinstance(error, Refusal | NoTab) and not said[0] else ""


def _busy(name: str, slowest_s: float) -> str:
    return (
        f"{name} failed while the machine was too busy: the browser needed {slowest_s:.1f} s for an answer "
        "that takes it milliseconds. Take fewer lanes or processes, or a larger browser.action_timeout_ms."
    )
