"""The ``mcp`` browser: one that an MCP server drives, over HTTP or as a program of each attempt's own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_serializer, field_validator, model_validator

from pytest_browsereval.browsers.base import BrowserConfig, Survey
from pytest_browsereval.errors import ConfigError, Fault
from pytest_browsereval.features.mcp_browser.browser import McpBrowser
from pytest_browsereval.features.mcp_browser.mapping import ToolUses
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.names import header_secrets, is_secret_name, secret_values

_OLDEST_SDK = (2, 3)
"""The first one that limits how much one event of a server may hold."""
_REFUSED = (
    " Look up the path of its MCP endpoint, which often ends in /mcp. Some servers answer to the name "
    "`localhost` only. If it wants a key, write `headers: {Authorization: Bearer ${NAME_OF_VARIABLE}}`."
)


class McpBrowserConfig(BrowserConfig):
    """A browser that an MCP server drives, by the server's own tools."""

    family: ClassVar[str] = "browser"
    brings_tools: ClassVar[bool] = True
    has_page: ClassVar[bool] = False

    type: Literal["mcp"] = "mcp"
    url: str | None = None
    """Where the server is, ending in ``/mcp``, which is added to an address without a path."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of every request, such as ``Authorization: Bearer ${TOKEN}``."""
    command: tuple[str, ...] = ()
    """Instead of a ``url``: a program that speaks MCP over its standard input and output. Each attempt has
    a process of its own; ``{folder}`` is a folder of its own, removed at the end."""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Variables of the program, in addition to the few that any program needs."""
    cwd: Path | None = None
    """Where the program runs; by default the folder of the eval config."""
    sessions: Literal["shared", "isolated"] | None = None
    """``isolated``: the server at ``url`` gives each session a browser of its own, so that several attempts
    may run at once. By default they share one, and run one at a time."""
    tools: ToolUses = ToolUses()
    """Which of the server's tools does what. Well-known servers do not need this."""
    connect_timeout_s: float = Field(default=120.0, gt=0)
    """How long the server may take to start and answer; ``npx`` may have to fetch it."""
    call_timeout_s: float = Field(default=60.0, gt=0)
    """How long a call of a tool may take."""

    @field_validator("url")
    @classmethod
    def _url_is_an_endpoint(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is not the URL of a server. Write `url: http://localhost:PORT/mcp`")
        if parts.username or parts.password:
            raise ValueError(
                "a url must not contain a password. Write `headers: {Authorization: Basic ${NAME}}`"
            )
        return value if parts.path.strip("/") else parts._replace(path="/mcp").geturl()

    @model_validator(mode="after")
    def _one_way_to_it(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise ValueError("give one of `url: http://localhost:PORT/mcp` and `command: [npx, ...]`")
        others = ("headers", "sessions") if self.command else ("env", "cwd")
        if wrong := [name for name in others if getattr(self, name)]:
            other, own = ("url", "command") if self.command else ("command", "url")
            raise ValueError(f"{wrong[0]} goes with a {other}, not with a {own}. Leave {wrong[0]} out.")
        return self

    @field_serializer("env", when_used="json")
    def _only_secrets_are_hidden(self, value: dict[str, SecretStr]) -> dict[str, str]:
        return {
            name: HIDDEN if is_secret_name(name, "variable") else inner.get_secret_value()
            for name, inner in value.items()
        }

    def secrets(self) -> tuple[str, ...]:
        """Return the values of headers and of the query, and of variables named such as ``API_KEY``."""
        headers = [value.get_secret_value() for value in self.headers.values()]
        # Keys stand in queries of hosted servers.
        given = header_secrets(headers, urlsplit(self.url or "").query)
        return given + secret_values({name: one.get_secret_value() for name, one in self.env.items()})

    def prepare(self, base_dir: Path) -> Self:
        """Return the block with its folder absolute.

        Raises:
            ConfigError: a package, a program or a folder is missing.
        """
        _check_packages()
        if not self.command:
            return self
        cwd = base_dir / (self.cwd or "")
        if not cwd.is_dir():
            raise ConfigError(f"browser.cwd is {str(self.cwd)!r}, but there is no folder {cwd}. Create it.")
        # A program on PATH, or one in the config's folder.
        first = self.command[0]
        own_path = self.env["PATH"].get_secret_value() if "PATH" in self.env else None
        if shutil.which(str(cwd / first) if "/" in first else first, path=own_path) is None:
            raise ConfigError(
                f"browser.command begins with {first!r}, which is not a program on PATH or in "
                f"{str(cwd)!r}. Install it, or write its path."
            )
        return self.model_copy(update={"cwd": cwd})

    def label(self) -> str:
        """Return what messages call the server: no query of the URL, no secret of the command."""
        if self.url is not None:
            return urlsplit(self.url)._replace(query="", fragment="").geturl()
        return " ".join(_format_words(self.command))

    async def survey(self) -> Survey:
        """Ask the server for its tools.

        Raises:
            ConfigError: it cannot be reached, or lacks a tool.
        """
        browser = self.build()
        try:
            await browser.start()
        except Fault as fault:
            raise ConfigError(f"browser: {fault}{_REFUSED * ('HTTP status' in str(fault))}") from None
        finally:
            await browser.close()
        return browser.survey

    @property
    def max_windows(self) -> int | None:
        """One where all sessions act in one browser."""
        return 1 if self.is_shared else None

    def build(self) -> McpBrowser:
        """Return the browser, not started yet."""
        return McpBrowser(self)

    @property
    def is_shared(self) -> bool:
        """Whether all sessions act in one browser."""
        return self.url is not None and self.sessions != "isolated"


def _check_packages() -> None:
    try:
        found = version("mcp")
    except PackageNotFoundError:
        found = "none"
    # Without what pre-releases have more.
    if tuple(map(int, re.findall(r"\d+", found)[:2])) < _OLDEST_SDK:
        raise ConfigError(
            f"`browser: {{type: mcp}}` needs the package mcp 2.3 or newer (here is {found}). "
            "Run `pip install 'pytest-browsereval[mcp]'`"
        )


def _format_words(words: Sequence[str]) -> Iterator[str]:
    hides_next = False
    for word in words:
        name, equals, _ = word.partition("=")
        is_secret = name.startswith("-") and is_secret_name(name, "key")
        yield HIDDEN if hides_next else f"{name}={HIDDEN}" if is_secret and equals else word
        hides_next = is_secret and not equals
