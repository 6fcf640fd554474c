"""Base of browsers: a browser opens windows, and a window can be looked at and closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.registry import Component

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

PictureFormat = Literal["jpeg", "png", "webp"]


@dataclass(frozen=True)
class WindowRequest:
    """What an attempt asks of its window."""

    query_id: str
    start_url: str | None = None
    """Absolute; None opens an empty page."""
    setup_script: str | None = None
    """JavaScript evaluated in the start page once it has loaded."""
    wants_cdp: bool = False
    """True: a program of another process attaches to the window's browser, by :attr:`Window.cdp_url`."""
    har: Path | None = None
    """Where its network traffic is recorded; complete once the window has closed. None: nowhere."""
    answers: Callable[[BrowserContext], Awaitable[object]] | None = None
    """Makes recorded replies answer its requests from now on; None: servers answer them."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """What the row chooses for its window, such as a device."""
    clock: str | None = None
    """The time when its pages open, in ISO 8601."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URLs of the sites that the row uses, by name."""
    opened: Callable[[Window], Awaitable[object]] | None = None
    """Called with the window before it goes to its start page, to record what happens there."""


@dataclass(frozen=True)
class ForeignTool:
    """A tool that a browser brings itself, as its server describes it."""

    name: str
    description: str
    schema: dict[str, Any]
    """The JSON schema of its arguments."""
    page_argument: str | None = None
    """The argument that names a page; ``{page}`` in it is the page of the attempt."""


@dataclass(frozen=True)
class ForeignResult:
    """What a browser's own tool answered."""

    ok: bool
    output: str


@dataclass(frozen=True)
class Survey:
    """What is known about a browser before its first window is opened."""

    tools: tuple[ForeignTool, ...] | None = None
    """The tools that it brings; None: it is driven by ours."""
    max_windows: int | None = None
    """How many windows may be open at once; None sets no limit."""
    notes: tuple[str, ...] = ()
    """What a reader of the run should know, one sentence each."""
    no_cdp: str | None = None
    """Why no program of another process can attach to a window's browser, and what to type; None: it can."""
    no_har: str | None = None
    """Why network traffic cannot be recorded, and what to type; None: it can."""
    no_trace: str | None = None
    """Why no trace can be recorded, and what to type; None: it can."""


@dataclass(frozen=True)
class Tab:
    """One page of a window."""

    tab_id: int
    url: str
    title: str
    is_current: bool


@dataclass(frozen=True)
class PageError:
    """What a server answered instead of the page of a window."""

    url: str
    status: int | None
    """Of HTTP, 400 or more; None if there was no answer."""
    is_own: bool = False
    """True: the agent has composed the address itself, rather than followed a link, a form or a redirect."""

    why: str = ""
    """Why there was no answer, as a sentence without its full stop."""

    @property
    def is_of_server(self) -> bool:
        """Whether the server is to blame: it says so, or it did not answer."""
        return self.status is None or self.status >= 500

    def __str__(self) -> str:
        """Return a sentence without its full stop."""
        return self.why or f"{self.url} answered HTTP {self.status}{describe_login(self.status)}"


def describe_login(status: int | None) -> str:
    """Return what the end of a sentence says of a status for which a person types a password."""
    return " (for basic auth, set `browser.context.http_credentials`)" if status == 401 else ""


class Window(ABC):
    """An isolated browser context with its pages; one attempt works in it.

    This is all that the run itself needs of it. Built-in tools and graders that read pages need a
    ``PlaywrightWindow``: see ``BrowserConfig.has_page``.
    """

    window_id: int
    """Unique in this process."""
    conditions: tuple[str, ...] = ()
    """The conditions of the task, as the record has them: ``device=iPhone 15``."""
    alter_result: Callable[[str, str], str] | None = None
    """Returns what the agent reads in place of a tool's output; called with the tool's name and output."""

    @property
    @abstractmethod
    def tab_id(self) -> int:
        """The tab that tools act on."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the current tab; empty when it has gone."""

    @property
    def page_name(self) -> str | None:
        """The name or number of the current page; None unless its tools want one."""
        return None

    @property
    def figures(self) -> Mapping[str, Any]:
        """Keys of the record that the window knows when its attempt ends, such as its last address.

        Another key needs a field of ``TaskMetadata``, and a line in ``runs/keys.py`` to be shown.
        """
        return {"final_url": self.url or None, "conditions": self.conditions}

    @property
    @abstractmethod
    def dead(self) -> str | None:
        """Why the window can never be used again (its browser died), or None."""

    @property
    def page_error(self) -> PageError | None:
        """The error that the current page was answered with; None if there is none, or it is not known."""
        return None

    async def look(self) -> None:  # noqa: B027 -- most kinds know at once
        """Bring ``dead`` and ``page_error`` up to date, if these may lag behind."""

    async def finish(self) -> list[str]:
        """Wait, within limits, for what is under way when the agent has ended; return what came of it."""
        return []

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the report should know: a crashed page, a flood of pop-ups."""
        return ()

    @property
    def viewport(self) -> tuple[int, int] | None:
        """Width and height of the visible part of the page in CSS pixels; None if they are not known."""
        return None

    @property
    def cdp_url(self) -> str | None:
        """Where another process attaches by the DevTools protocol; None unless the request wanted it."""
        return None

    @property
    def snapshot_call(self) -> tuple[str, dict[str, Any]]:
        """The tool whose output shows the page as text, and its arguments: ours, unless it brings its own."""
        return "snapshot", {}

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ForeignResult:
        """Run one of the tools that the browser brings.

        Args:
            name: a tool of the browser's survey.
            arguments: as its schema says.

        Raises:
            Fault: source *browser*, when the window can never be used again.
        """
        raise NotImplementedError(f"a {type(self).__name__} brings no tools; {name} cannot run")

    @abstractmethod
    async def tabs(self) -> list[Tab]:
        """Return the open tabs in the order in which they were opened."""

    @abstractmethod
    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        """Return a picture of the current tab's viewport, in each of the three formats.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
        """

    async def markup(self) -> str:
        """Return the HTML of the current tab as it is now, frames and shadow trees included.

        Raises:
            Fault: source *screenshot*, when the page does not answer.
        """
        raise Fault(ErrorSource.SCREENSHOT, f"a {type(self).__name__} does not give its markup")

    @abstractmethod
    async def close(self) -> None:
        """Close every page of it; never raises, and closing twice is harmless."""


class Browser(ABC):
    """One running browser, shared by all the attempts of a process."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Name, version and binary, for the header and the manifest; empty before ``start``."""

    @property
    def survey(self) -> Survey:
        """What was found out when the browser was started."""
        return Survey()

    @abstractmethod
    async def start(self) -> None:
        """Launch or attach; returns when windows can be opened.

        Raises:
            Fault: source *browser*; the message tells what to type next.
        """

    @abstractmethod
    async def open_window(self, request: WindowRequest) -> Window:
        """Open an isolated window at its start page.

        Raises:
            Fault: source *window_creation* or *navigation*; nothing is left open.
        """

    @abstractmethod
    async def close(self) -> None:
        """End the browser and all its windows; never raises."""


class BrowserConfig(Component):
    """Base of the browser family's members."""

    family: ClassVar[str] = "browser"

    brings_tools: ClassVar[bool] = False
    """True: it is driven by its own tools, which it lists when it is asked."""
    has_page: ClassVar[bool] = False
    """True: its windows are ``PlaywrightWindow``, with the page that built-in tools act on, graders read,
    and setup scripts run in, and of which har, trace, console and dom are recorded. False: a run that needs
    one of these is refused before it begins. Toolkits, tools and graders say by ``needs_page`` what they
    need."""

    @property
    def max_windows(self) -> int | None:
        """How many windows may be open at once, as far as the block alone tells."""
        return None

    async def survey(self) -> Survey:
        """Find out before anything is spent what the browser can do.

        A browser that we launch ourselves is known, so nothing is asked.

        Raises:
            ConfigError: it cannot be reached or lacks something; the message tells what to type next.
        """
        return Survey()

    def prepare(self, base_dir: Path) -> Self:
        """Return the block with its paths absolute, once what needs no browser has been checked.

        Args:
            base_dir: the folder of the eval config, which paths in the block are relative to.

        Raises:
            ConfigError: a file or program is missing.
        """
        del base_dir
        return self

    def site_names(self) -> tuple[str, ...]:
        """Return the names of sites that the block names."""
        return ()

    def check_window(self, context: Mapping[str, Any], clock: str | None) -> None:
        """Check what a row chooses for its window.

        Args:
            context: options of it.
            clock: the time when its pages open; None if that is not chosen.

        Raises:
            ValueError: the row may not choose this, or a value is wrong.
        """
        if context or clock:
            raise ValueError(
                f"the browser {self.type!r} cannot set `{'context' if context else 'clock'}`. Take it out of "
                "the row or the config, or write `browser: playwright`."
            )

    @abstractmethod
    def build(self) -> Browser:
        """Return the browser, not started yet."""
        raise NotImplementedError
