"""Sessions with an MCP server that drives a browser: what it can do, and a window for each attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.base import Browser, Survey, WindowRequest
from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.features.mcp_browser.mapping import Mapped, MappingProblem, map_tools
from pytest_browsereval.features.mcp_browser.window import McpWindow
from pytest_browsereval.features.mcp_browser.wire import CallRefused, McpSession, ServerGone
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.redactor import Redactor

if TYPE_CHECKING:
    from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig

NO_CDP = (
    "the agent attaches to the browser over the DevTools protocol, which `browser: {type: mcp}` does not "
    "offer. Use a browser of the type playwright or cdp."
)


class McpBrowser(Browser):
    """The sessions of a process with one server.

    Args:
        config: where it is and what its tools are for.
    """

    description = ""
    """Name and version of the server, and where it is."""
    survey = Survey()
    """The tools of the server."""

    def __init__(self, config: McpBrowserConfig) -> None:
        self.config = config
        self._mapped: Mapped | None = None
        self._spare: McpSession | None = None
        self._leftovers: list[str] = []

    async def start(self) -> None:
        """Ask the server for its tools, which stay the same until the end.

        Raises:
            Fault: source *browser*: it cannot be reached, or lacks a tool.
        """
        config = self.config
        session = await self._connect(ErrorSource.BROWSER)
        try:
            listed = await session.tools(config.connect_timeout_s)
            mapped = self._mapped = map_tools(config.tools, listed, has_process=bool(config.command))
        except BaseException as error:
            await asyncio.shield(session.close())
            if not isinstance(error, (MappingProblem, ServerGone, CallRefused, TimeoutError)):
                raise
            raise self._fault(ErrorSource.BROWSER, error) from None
        offered = (tool for tool in listed if tool.name in mapped.schemas)
        self.survey = Survey(
            tuple(replace(tool, page_argument=mapped.page_argument(tool.name)) for tool in offered),
            config.max_windows,
            tuple(_notes(config, mapped, [tool.name for tool in listed if tool.name not in mapped.schemas])),
            no_cdp=NO_CDP,
        )
        self.description = f"{session.server} (MCP: {config.label()})"
        if config.command:
            self._spare = session  # it has a process of its own, in which nothing was done yet
        else:
            await session.close()

    async def _connect(self, source: ErrorSource) -> McpSession:
        session = McpSession(self.config)
        try:
            await session.open(self.config.connect_timeout_s)
        except ServerGone as error:
            raise self._fault(source, error) from None
        return session

    def _fault(self, source: ErrorSource, error: Exception) -> Fault:
        why = str(error) or f"listing its tools took longer than {self.config.connect_timeout_s:g} s"
        if not isinstance(error, ServerGone):  # which names the server itself
            why = f"the MCP server {self.config.label()}: {why}"
        return Fault(source, Redactor(self.config.secrets(), HIDDEN).redact(why))

    async def open_window(self, request: WindowRequest) -> McpWindow:
        """Begin a session at the start page.

        Raises:
            Fault: source *window_creation* or *navigation*; nothing is left open.
            StopRun: the request wants what a server cannot do.
        """
        # Checked before the run too; a hook may have changed the request since.
        if request.setup_script is not None:
            why = "a browser behind an MCP server has no page to run a setup_script in"
            raise Fault(ErrorSource.WINDOW_CREATION, why)
        if request.wants_cdp:
            raise StopRun(ErrorSource.WINDOW_CREATION, NO_CDP)
        assert self._mapped is not None  # noqa: S101 started
        session, self._spare = self._spare, None
        if session is None or session.gone is not None:  # it has ended while nobody used it
            await self._close(session)
            session = await self._connect(ErrorSource.WINDOW_CREATION)
        window = McpWindow(session, self._mapped, self.config, self._leftovers)
        try:
            await window.open(request.start_url)
        except BaseException:
            await asyncio.shield(window.close())
            raise
        return window

    async def close(self) -> None:
        """Forget the server; windows close their own sessions. Never raises."""
        spare, self._spare = self._spare, None
        await self._close(spare)

    async def _close(self, session: McpSession | None) -> None:
        if session is not None:
            await session.close()


def _notes(config: McpBrowserConfig, mapped: Mapped, left_out: list[str]) -> Iterator[str]:
    """Yield what a reader of the run should know of."""
    if left_out:
        yield f"not offered, because they are not browser tools: {', '.join(left_out)}"
    if config.is_shared:
        yield (
            f"attempts run one at a time in the one browser of {config.label()}, and each finds what the one "
            "before left there. Write `sessions: isolated` if the server gives each session a browser of "
            "its own"
        )
    if not mapped.tells_url:
        yield "the page's address is unknown after a call: no `pattern` under browser.tools reads it"
