"""What a browser is to the rest: it opens windows, and a window can be looked at and closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

from pytest_browsereval.registry import Component

PictureFormat = Literal["jpeg", "png", "webp"]


@dataclass(frozen=True)
class WindowRequest:
    """What an attempt wants of its window."""

    query_id: str
    start_url: str | None = None
    """Absolute; None opens an empty page."""
    setup_script: str | None = None
    """JavaScript evaluated in the start page once it has loaded."""


@dataclass(frozen=True)
class Tab:
    """One page of a window."""

    tab_id: int
    url: str
    title: str
    is_current: bool


class Window(ABC):
    """An isolated browser context with its pages; one attempt works in it."""

    window_id: int
    """Unique in this process."""

    @property
    @abstractmethod
    def tab_id(self) -> int:
        """The tab that tools act on."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the current tab; empty when it has gone."""

    @property
    @abstractmethod
    def dead(self) -> str | None:
        """Why the window can never be used again (its browser died), or None."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the report should know of: a crashed page, a flood of pop-ups."""
        return ()

    @property
    def viewport(self) -> tuple[int, int] | None:
        """Width and height of the visible part of the page in CSS pixels; None if they are not known."""
        return None

    @abstractmethod
    async def tabs(self) -> list[Tab]:
        """Return the open tabs in the order in which they were opened."""

    @abstractmethod
    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        """Return a picture of the current tab's viewport.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
        """

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
    @abstractmethod
    def is_alive(self) -> bool:
        """False once the browser has died or has been closed."""

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

    def prepared(self, base_dir: Path) -> Self:
        """Return the block with its paths absolute, once what needs no browser has been checked.

        Args:
            base_dir: the folder of the eval config, which paths in the block are relative to.

        Raises:
            ConfigError: a file or program is missing.
        """
        del base_dir
        return self

    @abstractmethod
    def build(self) -> Browser:
        """Return the browser, not started yet."""
        raise NotImplementedError
