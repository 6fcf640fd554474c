"""Page options that every browser driven by Playwright shares."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from pytest_browsereval.browsers.base import BrowserConfig, WindowRequest
from pytest_browsereval.browsers.playwright.context_options import (
    ROW_KEYS,
    ContextOptions,
    list_credentials,
    list_secret_headers,
    list_secrets,
    merge_options,
    read_options,
)
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins
from pytest_browsereval.browsers.playwright.place import WindowRules
from pytest_browsereval.browsers.playwright.stored_state import list_stored_secrets, read_state
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, nearest

DEFAULT_VIEWPORT = {"width": 1280, "height": 720}
"""Playwright's."""


class PageOptions(BrowserConfig):
    """Base of the members whose windows are Chromium's and driven by our tools."""

    has_page: ClassVar[bool] = True

    context: Annotated[dict[str, Any], ContextOptions()] = Field(default_factory=dict)
    """Options of each window, as Playwright's ``new_context`` has them, and ``device``: a name of
    ``playwright.devices``."""
    allowed_origins: tuple[str, ...] = ()
    """Patterns such as ``https://shop.example``, ``*.example.com``, ``http://127.0.0.1:*``. Nothing reaches
    other origins, not even by redirects or workers. The start page's own origin is always allowed; empty
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

    @model_validator(mode="after")
    def _nothing_goes_to_strangers(self) -> Self:
        context, is_held = self.context, bool(self.allowed_origins)
        if is_held and (own := next((one for one in ("proxy", "client_certificates") if one in context), "")):
            raise ValueError(
                f"context.{own} has no effect with allowed_origins: a filter in front of the browser "
                "then makes the connections. Set HTTP_PROXY and HTTPS_PROXY, or leave one of the two out."
            )
        if not is_held and (name := next(iter(list_secret_headers(context)), "")):
            raise ValueError(
                f"context.extra_http_headers.{name} would go to each server that a page names. Write "
                "allowed_origins too, or context.http_credentials."
            )
        if "geolocation" in context:
            self._allow_geolocation()
        return self

    def _allow_geolocation(self) -> None:
        if "geolocation" not in self.context.get("permissions", ()):
            raise ValueError(
                "context.geolocation is not shown to pages without a permission. Write `browser: {context: "
                "{permissions: [geolocation]}}`."
            )

    def secrets(self) -> tuple[str, ...]:
        """Return the passwords and keys of the windows' options, and of the stored state once it is found."""
        found = list(list_secrets(self.context))
        state = Path(self.context.get("storage_state") or "")
        if state.is_absolute():
            with suppress(OSError, ValueError):  # ``prepare`` says what is wrong
                found += list_stored_secrets(read_state(state))
        return tuple(found)

    def site_names(self) -> tuple[str, ...]:
        """Return the names of sites that logins are for."""
        origins = (one["origin"] for one in list_credentials(self.context))
        return tuple(origin[1:-1] for origin in origins if origin.startswith("{"))

    def check_window(self, context: Mapping[str, Any], clock: str | None) -> None:
        """Check what a row chooses of its window; each has a clock.

        Raises:
            ValueError: it may not, or it is wrong.
        """
        del clock
        for name in context:
            if name not in ROW_KEYS:
                raise ValueError(
                    f"context.{name} cannot be chosen by a row.{nearest(name, ROW_KEYS)} A row may choose "
                    f"{', '.join(ROW_KEYS)}. Set others in the config, `browser: {{context: "
                    "...}`; keys of the row, such as clock, are not in `context`, but next to it."
                )
        try:
            read_options(context)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, ("context", *first["loc"])))
            raise ValueError(f"{where}: {first['msg']}") from None
        if "geolocation" in context:
            self._allow_geolocation()

    def prepare(self, base_dir: Path) -> Self:
        """Return the block with its paths absolute.

        Raises:
            ConfigError: there is no stored state, or it is broken.
        """
        given = self.context.get("storage_state")
        if given is None:
            return self
        state = base_dir / given
        if not state.is_file():
            raise ConfigError(
                f"browser.context.storage_state is {given!r}, but there is no file {state}. "
                "Write one with Playwright's context.storage_state(path=...), or leave storage_state out."
            )
        try:
            read_state(state)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"browser.context.storage_state is {given!r}, and Playwright cannot read this file: {error}. "
                "Write it again with context.storage_state(path=...)."
            ) from None
        return self.model_copy(update={"context": {**self.context, "storage_state": str(state)}})

    def rules(self, start_url: str | None) -> WindowRules:
        """Return the limits of a window that starts at the URL.

        Raises:
            Fault: a row starts at a server for which the keys in headers are not.
        """
        allowed = AllowedOrigins.parse(self.allowed_origins)
        if not allowed.allow(start_url or "") and (name := next(iter(list_secret_headers(self.context)), "")):
            raise Fault(
                ErrorSource.WINDOW_CREATION,
                f"browser.context.extra_http_headers.{name} is sent to browser.allowed_origins only, and "
                "the row starts elsewhere. Add the origin of its start_url there if it may get the header.",
            )
        return WindowRules(
            allowed=allowed.also(start_url),
            action_s=self.action_timeout_ms / 1000,
            navigation_s=self.navigation_timeout_ms / 1000,
        )

    def context_options(
        self, request: WindowRequest, devices: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the keyword arguments for Playwright's ``new_context``.

        Args:
            request: with what the row chooses.
            devices: those of Playwright, by name.
        """
        options = merge_options(self.context, request.context, devices, request.site_urls)
        if self.allowed_origins:
            # Nobody asks about a service worker's own requests, so that none would be noticed.
            options["service_workers"] = "block"
        return options
