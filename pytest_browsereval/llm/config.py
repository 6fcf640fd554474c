"""The model settings of an agent or a judge: which model, where, with what key."""

from __future__ import annotations

import ipaddress
import os
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.providers import (
    Provider,
    is_variable_name,
    provider_named,
    resolve_env_value,
)

KEYLESS = "none"
"""What ``api_key`` is set to for a server that wants no key."""

SHORTEST_SECRET = 8
"""Shorter values (``none``, ``ollama``) are place-holders; redacting them would spoil every text."""


def _both_spellings(name: str) -> AliasChoices:
    return AliasChoices(name, to_camel(name))


BOTH_SPELLINGS = AliasGenerator(validation_alias=_both_spellings)
"""Accepts ``base_url`` and BrowserOS's ``baseUrl``."""


class Prices(BaseModel):
    """What a model costs, for one that the price list does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_per_mtok: float = Field(ge=0)
    """US dollars for a million input tokens."""
    output_per_mtok: float = Field(ge=0)
    """US dollars for a million output tokens."""


class LLMConfig(BaseModel):
    """A model, reached over the chat-completions protocol."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=BOTH_SPELLINGS,
        # A refused block would be shown whole, key included.
        hide_input_in_errors=True,
    )

    provider: str = "openai-compatible"
    """Which provider; ``openai-compatible`` is any server at ``base_url``."""
    model: str | None = Field(default=None, min_length=1)
    """The model's name at the provider."""
    api_key: SecretStr | None = None
    """The name of an environment variable, such as ``OPENAI_API_KEY``; ``none`` for no key."""
    base_url: str | None = None
    """Where the provider is, if not at its own address; ends before ``/chat/completions``."""
    resource_name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+$")
    """The resource at Azure."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only if set; some models refuse it."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """The most tokens of one reply."""
    seed: int | None = None
    """Sent only if set."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much the model thinks; sent only if set."""
    prices: Prices | None = None
    """Overrides the price list."""
    stream: bool = False
    """Receive replies piece by piece; for gateways that cut connections that are silent for long."""
    request_timeout_s: float = Field(default=180.0, gt=0)
    """The most that one request may take."""
    max_tries: int = Field(default=5, ge=1, le=20)
    """Requests for one reply, the first included."""
    retry_deadline_s: float = Field(default=600.0, gt=0)
    """The most that one reply may take, waiting between tries included."""

    provider_id: str | None = None
    """A label of BrowserOS; has no effect here."""
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    """Accepted from BrowserOS configs; chat completions have no such setting."""
    region: str | None = None
    """Accepted from BrowserOS configs; no provider that can be used here needs it."""
    access_key_id: SecretStr | None = None
    """As ``region``."""
    secret_access_key: SecretStr | None = None
    """As ``region``."""
    session_token: SecretStr | None = None
    """As ``region``."""
    acp_agent_id: str | None = None
    """As ``region``."""
    acp_command: str | None = None
    """As ``region``."""
    acp_fixed_workspace_path: str | None = None
    """As ``region``."""

    @field_validator("provider")
    @classmethod
    def _provider_is_usable(cls, value: str) -> str:
        provider_named(value)
        return value

    @field_validator("base_url")
    @classmethod
    def _base_url_is_plain(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.username or parts.password:
            raise ValueError(
                "a base_url must not hold a user name or password. Write  api_key: NAME_OF_VARIABLE"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is no URL of a server. Write  base_url: https://HOST/v1")
        return value.rstrip("/").removesuffix("/chat/completions")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        traits = self.traits
        if self.base_url is None and traits.base_url is None:
            raise ValueError(
                f"provider {self.provider!r} needs a base_url. Write  base_url: http://HOST:PORT/v1 , or "
                "name a provider with an address of its own, such as  provider: openai"
            )
        if self.base_url is None and "{resource_name}" in (traits.base_url or "") and not self.resource_name:
            raise ValueError(f"provider {self.provider!r} needs a resource_name or a base_url.")
        if self.seed is not None and not traits.has_seed:
            raise ValueError(f"provider {self.provider!r} knows no seed. Leave  seed  out.")
        if not (self.model or traits.default_model):
            raise ValueError(f"provider {self.provider!r} needs a model. Write  model: NAME")
        return self

    @field_serializer("api_key", when_used="json")
    def _key_is_named_at_most(self, value: SecretStr | None) -> str | None:
        if value is None:
            return None
        given = value.get_secret_value()
        return given if _is_placeholder(given) or ("_" in given and is_variable_name(given)) else str(value)

    @property
    def traits(self) -> Provider:
        """What the provider supports."""
        return provider_named(self.provider)

    @property
    def model_name(self) -> str:
        """The model, or the one that the provider stands for."""
        return self.model or self.traits.default_model or ""

    @property
    def url(self) -> str:
        """Where requests go, without a slash at the end."""
        own = (self.traits.base_url or "").format(resource_name=self.resource_name)
        return self.base_url or own

    @property
    def is_local(self) -> bool:
        """True if requests stay on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def resolve_key(self) -> str | None:
        """Return the key, None where the server wants none.

        A provider's own variable is read for its own address only, so that no key goes elsewhere.

        Raises:
            ConfigError: there is no key; the message tells which variable to set.
        """
        if self.api_key is not None:
            given = self.api_key.get_secret_value().strip()
            return None if _is_placeholder(given) else _as_header(resolve_env_value(given))
        variable = self.traits.key_variable
        if variable and urlsplit(self.url).hostname == self._own_host():
            return _as_header(resolve_env_value(variable))
        if self.traits.is_keyless or self.is_local:
            return None
        raise ConfigError(
            f"the model {self.model_name!r} at {urlsplit(self.url).hostname} has no api_key. Write  api_key: "
            f"NAME_OF_VARIABLE , or  api_key: {KEYLESS}  if the server wants no key."
        )

    def _own_host(self) -> str | None:
        own = (self.traits.base_url or "").format(resource_name=self.resource_name)
        return urlsplit(own).hostname

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must never be written; a variable that is not set has none."""
        try:
            found = [self.resolve_key()]
        except ConfigError:
            found = []
        for field in (self.access_key_id, self.secret_access_key, self.session_token):
            if field is not None:
                value = field.get_secret_value()
                found.append(os.environ.get(value) if is_variable_name(value) else value)
        return tuple(value for value in found if value and len(value) >= SHORTEST_SECRET)


def _as_header(key: str) -> str:
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            "the api_key holds characters that no HTTP header can carry. Paste it again, without line "
            "breaks or typographic signs."
        )
    return key


def _is_placeholder(value: str) -> bool:
    return value.lower() in ("", KEYLESS)
