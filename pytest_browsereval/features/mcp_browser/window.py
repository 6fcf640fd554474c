"""A window behind an MCP server, known only through the server's tools."""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.base import ForeignResult, PageError, PictureFormat, Tab, Window
from pytest_browsereval.browsers.playwright.origins import cap_text, shorten
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.mcp_browser.mapping import Mapped, Purpose, ToolUse, list_pages, read_where
from pytest_browsereval.features.mcp_browser.wire import Answer, CallRefused, McpSession, ServerGone
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.tools.display import cut_tree
from pytest_browsereval.tools.foreign import offer_names

if TYPE_CHECKING:
    from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig

OUTPUT_LENGTH = 30_000
"""Characters of a tool's text that an agent gets."""
ALIVE_S = 5.0
"""How long a server that was late with a tool may take to show that it lives."""
PICTURE_S = 15.0
ADDRESS_S = 5.0
CLOSE_S = 10.0

_LONGEST_TEXT = 300
_TREE = re.compile(r"\n *- \S[^\n]*\[ref=\w+\]")
"""A snapshot of Playwright's kind: one that is cut keeps its dialogs and landmarks."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_EMPTY = "about:blank"
_ADDRESS = "location.href + ' HTTP ' + (performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0)"
_ADDRESSES = (_ADDRESS, f"return {_ADDRESS}")
"""As an expression, and as the body of a function: servers take the one or the other."""
_TOLD = re.compile(r"(data:.*|[a-z-]+:\S+) HTTP (\d{1,3})")

_window_ids = itertools.count(1)
_REFUSALS = (TimeoutError, CallRefused, ServerGone)


class McpWindow(Window):
    """One attempt's session with a server.

    Args:
        session: connected; it is closed with the window.
        mapped: which tools do what.
        config: of the browser.
        leftovers: takes what an attempt could not close; shown with the next window's warnings.
    """

    tab_id = 1
    """Always 1: which tabs there are, only the server knows."""
    page_error: PageError | None = None
    """What the page was answered with when the attempt ended, if the server has a tool that tells it."""

    def __init__(
        self, session: McpSession, mapped: Mapped, config: McpBrowserConfig, leftovers: list[str]
    ) -> None:
        self.window_id = next(_window_ids)
        self._session = session
        self._mapped, self._uses = mapped, mapped.uses
        self._config = config
        self._call_s = config.call_timeout_s
        self._leftovers = leftovers
        self._warnings = tuple(leftovers)
        leftovers.clear()
        self._page: str | None = None
        self._opened: list[str] = []
        self._others: list[str] = []
        """The pages that were open before, if all that open later are the attempt's."""
        self._url = self._title = ""
        self._composed: set[str] = set()
        """What the agent has called tools with."""
        self._is_closed = False

    # -- what it is

    @property
    def url(self) -> str:
        """The address of the page, as the last text said it; empty when none does."""
        return cap_text(self._url)

    @property
    def dead(self) -> str | None:
        """Why the server can never be used again, or None."""
        return None if self._is_closed else self._session.gone

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the attempt before could not close, and what the last page was answered with."""
        return (*self._warnings, *map(str, filter(None, [self.page_error])))

    @property
    def page_name(self) -> str | None:
        """The number or name of its page, for tools that want one."""
        return self._page if self._mapped.wants_page else None

    @property
    def snapshot_call(self) -> tuple[str, dict[str, Any]]:
        """The server's tool that gives the page as text, and its arguments."""
        use = self._uses["snapshot"]
        return offer_names(self._mapped.schemas)[use.tool], self._mapped.arguments(use, {"page": self._page})

    async def tabs(self) -> list[Tab]:
        """Return the one tab that is known of."""
        return [Tab(self.tab_id, self.url, cap_text(self._title), is_current=True)]

    async def _run(self, purpose: Purpose, limit_s: float | None = None, **values: Any) -> Answer:
        """Call the tool for a purpose; all that have to be there were checked before the run."""
        use = self._uses[purpose]
        arguments = self._mapped.arguments(use, {"page": self._page, **values})
        return await self._session.call(use.tool, arguments, min(limit_s or self._call_s, self._call_s))

    # -- its start

    async def open(self, start_url: str | None) -> None:
        """Go to the start page.

        Raises:
            Fault: source *navigation* or *window_creation*.
        """
        try:
            if self._config.is_shared:
                self._others = list_pages(self._uses.get("pages"), await self._read_pages())
            if self._mapped.needs_page(self._uses["navigate"]):
                await self._look_at_pages()
            if start_url is not None or (self._page is None and self._mapped.wants_page):
                await self._go(start_url or _EMPTY)
        except ServerGone as error:
            raise Fault(ErrorSource.WINDOW_CREATION, str(error)) from None
        except (TimeoutError, CallRefused) as error:
            why = f": {_short(str(error))}" if str(error) else f" within {self._call_s:g} s"
            raise Fault(ErrorSource.NAVIGATION, f"{start_url} was not opened{why}") from None

    async def _go(self, url: str) -> None:
        use, answer = self._uses["navigate"], await self._run("navigate", url=url)
        if answer.is_error or (use.fails and re.search(use.fails, answer.text)):
            raise Fault(ErrorSource.NAVIGATION, f"{url} was not opened: {_short(answer.text)}")
        self._url = url
        await self._locate(use.tool, answer.text, opens_page=True)
        await self._ask_address()
        if error := self.page_error:
            source = ErrorSource.SITE if error.is_of_server else ErrorSource.NAVIGATION
            raise Fault(source, f"The start page {error}.")
        # Servers report that the navigation went well, and Chromium shows a page of its own.
        if self._url.startswith("chrome-error:"):
            raise Fault(ErrorSource.NAVIGATION, f"{url} was not opened: the browser shows {self._url}")

    # -- where it is

    async def look(self) -> None:
        """Find out how the page was answered; never raises."""
        with suppress(*_REFUSALS):
            await self._ask_address()

    async def _ask_address(self) -> None:
        """Ask the page itself where it is: servers tell the address that they were asked for."""
        for script in _ADDRESSES if "address" in self._uses and not self.dead else ():
            answer = await self._run("address", ADDRESS_S, script=script)
            if found := _TOLD.search(answer.text):
                self._url, status = found[1], int(found[2])
                is_own = self._url in self._composed
                self.page_error = PageError(cap_text(self._url), status, is_own) if status >= 400 else None
                return

    async def _locate(self, tool: str, text: str, *, opens_page: bool) -> None:
        """Find out where the browser is now: from the text of a call, else by asking for the pages."""
        if opens_page and (page := read_where(self._uses["navigate"], text, self._page).get("page")):
            self._page = page
            self._opened.append(page)
        for purpose, use in self._uses.items():
            # A page that is read may hold lines such as those of a list of pages.
            is_answer = purpose != "pages" or use.tool == tool
            if is_answer and self._take(read_where(use, text, self._page)):
                return
        if "pages" in self._uses:
            await self._look_at_pages()

    def _take(self, where: dict[str, str]) -> bool:
        if "url" not in where:
            return False
        self._url, self._title = where["url"], where.get("title", "")
        self._page = where.get("page", self._page)
        return True

    async def _look_at_pages(self) -> None:
        use, text = self._uses["pages"], await self._read_pages()
        if (pages := list_pages(use, text)) and self._page is not None and self._page not in pages:
            # The agent has closed it.
            self._page = next((page for page in reversed(pages) if self._is_own(page)), self._page)
            self._url = self._title = ""
        where = read_where(use, text, self._page)
        if not self._take(where):
            self._page = where.get("page", self._page)

    async def _read_pages(self) -> str:
        return (await self._run("pages")).text if "pages" in self._uses else ""

    def _is_own(self, page: str) -> bool:
        return page not in self._others if self._others else page in self._opened

    # -- its tools

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ForeignResult:
        """Run one of the server's tools.

        Raises:
            Fault: source *browser*, when the server has gone.
        """
        self._composed |= {value for value in arguments.values() if isinstance(value, str)}
        if (argument := self._mapped.page_argument(name)) and arguments.get(argument) == "{page}":
            use = ToolUse(tool=name, arguments={argument: "{page}"})
            arguments = {**arguments, **self._mapped.arguments(use, {"page": self._page})}
        try:
            answer = await self._session.call(name, arguments, self._call_s)
            # Rather no address than one that the call may have left.
            if not self._mapped.tells_url:
                self._url = self._title = ""
            if argument in arguments and not answer.is_error:
                self._page = str(arguments[argument])
            await self._locate(name, answer.text, opens_page=self._mapped.opens_page(name, arguments))
        except TimeoutError:
            return await self._late(name)
        except CallRefused as error:
            return ForeignResult(ok=False, output=f"{name} failed: {_short(str(error))}")
        except ServerGone as error:
            raise Fault(ErrorSource.BROWSER, str(error)) from None
        return ForeignResult(not answer.is_error, format_output(answer))

    async def _late(self, name: str) -> ForeignResult:
        """Return what a model reads of a call without an answer, unless it is the server that hangs."""
        message = f"{name} took longer than {self._call_s:g} s."
        try:
            await self._session.check(min(ALIVE_S, self._call_s))
        except ServerGone as error:
            raise Fault(ErrorSource.BROWSER, f"{message} Then {error}") from None
        return ForeignResult(ok=False, output=message)

    # -- pictures

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        """Return a picture of the page, by the server's own tool.

        Raises:
            Fault: source *screenshot*, when there is none.
        """
        try:
            answer = await self._run("screenshot", PICTURE_S, format=picture, quality=quality)
            if answer.pictures and not answer.is_error:
                return await asyncio.to_thread(convert_picture, answer.pictures[0], picture, quality)
            reason = " ".join(answer.texts) or "its answer has no picture"
        except (*_REFUSALS, ValueError) as error:
            reason = str(error) or "it took too long"
        tool = self._uses["screenshot"].tool
        raise Fault(ErrorSource.SCREENSHOT, f"{tool} gave no picture: {_short(reason)}")

    # -- the end

    async def close(self) -> None:
        """Close what was opened, and the session; never raises, and closing twice is harmless."""
        if self._is_closed:
            return
        # A process of the attempt's own takes its pages along.
        if not self._config.command and self._session.gone is None:
            await self._close_pages()
        self._is_closed = True
        await self._session.close()

    async def _close_pages(self) -> None:
        pages: list[str | None] = [*reversed(self._opened)]
        with suppress(*_REFUSALS):
            if listed := list_pages(self._uses.get("pages"), await self._read_pages()):
                pages = [page for page in reversed(listed) if self._is_own(page)]
                if not pages:  # the agent has closed them itself
                    return
        for page in pages or [self._page]:
            try:
                answer = await self._run("close", CLOSE_S, page=page)
                why = " ".join(answer.texts) if answer.is_error else None
            except _REFUSALS as error:
                why = str(error) or "it took too long"
            if why is not None:
                tool = self._uses["close"].tool
                self._leftovers.append(f"{tool} did not close the attempt before: {_short(why)}")


def format_output(answer: Answer) -> str:
    """Return what an agent reads of an answer."""
    text = "\n".join(answer.texts)
    if answer.pictures:
        text += f"\n({len(answer.pictures)} picture{'s' if len(answer.pictures) > 1 else ''} left out)"
    if len(text) > OUTPUT_LENGTH and _TREE.search(text):
        text = cut_tree(text, "")
    elif len(text) > OUTPUT_LENGTH:
        text = f"{beginning(text, OUTPUT_LENGTH)}\n(cut: the text has {len(text)} characters)"
    return text.strip() or "(no text)"


def _short(text: str) -> str:
    return shorten(_COLOURS.sub("", text), _LONGEST_TEXT)


def convert_picture(encoded: str, picture: PictureFormat, quality: int) -> bytes:
    """Return the picture in a format; unchanged if it has that already.

    Args:
        encoded: the picture in base64.
        picture: the format wanted.
        quality: 0 to 100, for jpeg and webp.

    Raises:
        ValueError: it is not a picture.
    """
    from PIL import Image

    try:
        data, written = base64.b64decode(encoded, validate=True), io.BytesIO()
        # Only these: other formats of Pillow start programs or read further files.
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP", "GIF", "BMP")) as image:
            if image.format == picture.upper():  # no matter which media type the server names
                return data
            image.convert("RGB").save(written, picture.upper(), quality=quality)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"its data cannot be read as a picture: {error}") from None
    return written.getvalue()
