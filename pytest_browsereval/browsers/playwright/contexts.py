"""Page options that every browser driven by Playwright shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_browsereval.browsers.base import BrowserConfig
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins
from pytest_browsereval.browsers.playwright.place import WindowRules
from pytest_browsereval.errors import ConfigError, nearest


class Viewport(BaseModel):
    """The size of a page in CSS pixels."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    width: int = Field(default=1280, ge=1)
    """CSS pixels from left to right."""
    height: int = Field(default=720, ge=1)
    """CSS pixels from top to bottom."""


class PageOptions(BrowserConfig):
    """Base of the members whose windows are Chromium's and driven by our tools."""

    has_page: ClassVar[bool] = True

    viewport: Viewport = Viewport()
    """The size of every page, in CSS pixels."""
    device_scale_factor: float = Field(default=1.0, gt=0, le=8)
    """Device pixels per CSS pixel, as pages see it; pictures stay in CSS pixels."""
    locale: str | None = None
    """Language of pages and formats, ``de-DE`` for example; by default the machine's."""
    timezone: str | None = None
    """Time zone of pages, ``Europe/Berlin`` for example; by default the machine's."""
    storage_state: Path | None = None
    """Cookies and local storage to begin with, as Playwright's ``storage_state`` writes them."""
    allowed_origins: tuple[str, ...] = ()
    """Patterns such as ``https://shop.example``, ``*.example.com``, ``http://127.0.0.1:*``. Nothing gets to
    other origins, by redirects and workers either. The start page's own origin is always allowed; empty
    allows all."""
    navigation_timeout_ms: float = Field(default=30_000, gt=0)
    """How long a navigation may take."""
    action_timeout_ms: float = Field(default=5_000, gt=0)
    """How long an action waits until its element can be used."""

    @field_validator("allowed_origins")
    @classmethod
    def _origins_parse(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedOrigins.parse(value)
        return value

    @field_validator("timezone")
    @classmethod
    def _timezone_exists(cls, value: str | None) -> str | None:
        if value is None or value == "UTC":  # known everywhere; the list is read from hundreds of files
            return value
        # Chromium refuses a wrong name only when the first window opens.
        known = available_timezones()
        if known and value not in known:
            raise ValueError(
                f"{value!r} is not a time zone.{nearest(value, known)} Write one such as 'Europe/Berlin'."
            )
        return value

    def prepare(self, base_dir: Path) -> Self:
        """Return the block with its paths absolute.

        Raises:
            ConfigError: there is no stored state.
        """
        if self.storage_state is None:
            return self
        state = base_dir / self.storage_state
        if not state.is_file():
            raise ConfigError(
                f"browser.storage_state is {str(self.storage_state)!r}, and there is no file {state}. "
                "Write one by Playwright's context.storage_state(path=...), or leave storage_state out."
            )
        return self.model_copy(update={"storage_state": state})

    def rules(self, start_url: str | None) -> WindowRules:
        """Return the limits of a window that starts at the URL."""
        return WindowRules(
            allowed=AllowedOrigins.parse(self.allowed_origins).also(start_url),
            action_s=self.action_timeout_ms / 1000,
            navigation_s=self.navigation_timeout_ms / 1000,
        )

    def context_options(self) -> dict[str, Any]:
        """Return the keyword arguments for Playwright's ``new_context``."""
        options: dict[str, Any] = {
            "viewport": self.viewport.model_dump(),
            "device_scale_factor": self.device_scale_factor,
            "locale": self.locale,
            "timezone_id": self.timezone,
            "storage_state": self.storage_state,
            # Nobody asks about a service worker's own requests, so that none would be noticed.
            "service_workers": "block" if self.allowed_origins else None,
        }
        return {name: value for name, value in options.items() if value is not None}
