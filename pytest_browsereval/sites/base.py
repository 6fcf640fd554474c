"""Base of running sites."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path


class Site(ABC):
    """One instance of a site."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The base URL, without a slash at its end."""

    @property
    def data(self) -> Path | None:
        """The copy of its first data; None if it has none."""
        return None

    @abstractmethod
    async def start(self) -> None:
        """Start it; returns when it answers.

        Raises:
            Fault: source *site*; nothing of it is left running.
        """

    @abstractmethod
    async def reset(self) -> None:
        """Bring it back to its first state.

        Raises:
            Fault: source *site*.
        """

    @property
    @abstractmethod
    def has_ended(self) -> bool:
        """True once it can never answer again."""

    @abstractmethod
    async def trouble(self) -> str | None:
        """Return why what was seen of it is worth nothing, or None when it is up."""

    @abstractmethod
    async def close(self) -> None:
        """End it; never raises, and closing twice is harmless."""
