"""The model settings of an agent or a judge: which model, where, with what key."""

from __future__ import annotations

import os
import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from pytest_browsereval.addresses import is_local
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.feature import Feature, list_features
from pytest_browsereval.foreign_names import hint_at_dotenv
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.providers import (
    APIS,
    PROVIDERS,
    Provider,
    is_variable_name,
    provider_named,
    resolve_env_value,
)

KEYLESS = "none"
"""What ``api_key`` is set to for a server that wants no key."""

SHORTEST_KEY = 8
"""Shorter values (``none``, ``ollama``) are place-holders; redacting them would spoil every text."""


CHAT = "chat"
"""The API that needs no feature."""

_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


BOTH_SPELLINGS = AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name)))
"""Accepts ``base_url`` and BrowserOS's ``baseUrl``."""


def _serialize_key(value: SecretStr) -> str:
    given = value.get_secret_value()
    return given if _is_placeholder(given) or ("_" in given and is_variable_name(given)) else str(value)


def _is_placeholder(value: str) -> bool:
    return value.lower() in ("", KEYLESS)


ApiKey = Annotated[SecretStr, PlainSerializer(_serialize_key, when_used="json")]
"""A key that JSON shows as the name of its variable, and else not at all."""


class Prices(BaseModel):
    """What a model costs, for one that the price list does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    input_per_mtok: float = Field(ge=0)
    """US dollars for a million input tokens."""
    output_per_mtok: float = Field(ge=0)
    """US dollars for a million output tokens."""
    cache_read_per_mtok: float | None = Field(default=None, ge=0)
    """For a million input tokens read from the provider's cache; priced as other input unless set."""
    cache_write_per_mtok: float | None = Field(default=None, ge=0)
    """For a million input tokens written to it; priced as other input unless set."""

    def cost_usd(self, usage: Usage) -> float:
        """Return the price of tokens in US dollars."""
        plain = self.input_per_mtok
        read, written = (
            plain if one is None else one for one in (self.cache_read_per_mtok, self.cache_write_per_mtok)
        )
        total = usage.input_tokens * plain + usage.output_tokens * self.output_per_mtok
        total += usage.cache_read_tokens * (read - plain) + usage.cache_write_tokens * (written - plain)
        return max(total, 0.0) / 1e6


class LLMConfig(BaseModel):
    """A model, and how it is reached."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=BOTH_SPELLINGS,
        # A refused block would be shown whole, key included.
        hide_input_in_errors=True,
        defer_build=True,
    )

    provider: str = "openai-compatible"
    """Which provider; ``openai-compatible`` is any server at ``base_url``."""
    model: str | None = Field(default=None, min_length=1)
    """The model's name at the provider."""
    api_key: ApiKey | None = None
    """The name of an environment variable, such as ``OPENAI_API_KEY``; ``none`` for no key."""
    api: Literal["chat", "messages", "responses"] | None = None
    """How the model is asked: by ``chat`` completions, Anthropic's ``messages`` or OpenAI's ``responses``; by
    default the first that the provider has."""
    base_url: str | None = None
    """Where the provider is, if not at its own address; ends before ``/chat/completions``, ``/messages`` or
    ``/responses``."""
    resource_name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+$")
    """The resource at Azure."""
    region: str | None = Field(default=None, min_length=1)
    """The region at Bedrock, ``us-east-1`` for example, or the name of a variable that holds it."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only if set; some models refuse it."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """How many tokens one reply may have."""
    seed: int | None = None
    """Sent only if set."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much the model thinks; sent only if set."""
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    """Asks for a summary of what the model thinks, for the log; chat completions have none."""
    tool_calling: Literal["auto", "native", "json_schema"] = "auto"
    """How the model calls tools: by the protocol's own tool calls, or by replies in JSON, one call each, for
    servers and models without them. ``auto`` is what the provider is known to support."""
    prices: Prices | None = None
    """Overrides the price list."""
    stream: bool = False
    """Receive replies piece by piece; for gateways that cut connections that are silent for long."""
    request_timeout_s: float = Field(default=180.0, gt=0)
    """How long one request may take."""
    max_tries: int = Field(default=5, ge=1, le=20)
    """Requests for one reply, the first included. Those that are answered with 429 do not count, unless this
    is 1: they are sent again until ``retry_deadline_s``."""
    retry_deadline_s: float = Field(default=600.0, gt=0)
    """How long one reply may take, waiting between tries included."""

    provider_id: str | None = None
    """A label of BrowserOS; has no effect here."""
    access_key_id: SecretStr | None = None
    """Accepted from BrowserOS configs; requests are never signed, Bedrock takes a key here."""
    secret_access_key: SecretStr | None = None
    """As ``access_key_id``."""
    session_token: SecretStr | None = None
    """As ``access_key_id``."""
    acp_agent_id: str | None = None
    """Accepted from BrowserOS configs; has no effect here."""
    acp_command: str | None = None
    """Accepted from BrowserOS configs; has no effect here. To run a program, use the agent ``command``."""
    acp_fixed_workspace_path: str | None = None
    """Accepted from BrowserOS configs; has no effect here."""

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
        if parts.username or parts.password or parts.query:
            raise ValueError(
                "a base_url must not contain a password or query. Write `api_key: NAME_OF_VARIABLE`"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is not the URL of a server. Write `base_url: https://HOST/v1`")
        # People paste the whole address; the SDK adds the path itself.
        value = value.rstrip("/")
        return next((value.removesuffix(one) for one in APIS.values() if value.endswith(one)), value)

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        traits = self.traits
        if self.base_url is None and traits.base_url is None:
            maker, _, rest = (self.model or "").replace(":", "/", 1).partition("/")
            if rest and maker in PROVIDERS:
                raise ValueError(
                    f"model is {self.model!r}, but the provider is a key of its own. Write `provider: "
                    f"{maker}, model: {rest}`"
                )
            raise ValueError(
                f"provider {self.provider!r} needs a base_url. Write `base_url: http://HOST:PORT/v1`, or "
                "name a provider with an address of its own, such as `provider: openai`"
            )
        field = traits.asks_for
        if self.base_url is None and field and not getattr(self, field):
            raise ValueError(
                f"provider {self.provider!r} needs a {field} or a base_url. Write `{field}: NAME`"
            )
        try:
            self._own_url()
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if self.api_name not in traits.apis:
            has = ", ".join(f"`{one}`" for one in traits.apis)
            raise ValueError(
                f"provider {self.provider!r} has no `api: {self.api}`. It has {has}. Leave `api` out "
                "or write `provider: openai-compatible` with the `base_url` of a server that has it."
            )
        if self.api_name != CHAT and find_feature(self.api_name) is None:
            raise ValueError(
                f"the feature with the API {self.api_name!r} is not installed: its folder is missing"
            )
        if self.seed is not None and not (traits.has_seed and self.api_name == CHAT):
            api = "" if self.api is None else f", asked by its API {self.api!r},"
            raise ValueError(f"provider {self.provider!r}{api} does not take a seed. Leave `seed` out.")
        if not (self.model or traits.default_model):
            raise ValueError(f"provider {self.provider!r} needs a model. Write `model: NAME`")
        return self

    @property
    def traits(self) -> Provider:
        """What the provider supports."""
        return provider_named(self.provider)

    @property
    def api_name(self) -> str:
        """The API that the model is asked by."""
        return self.api or self.traits.apis[0]

    @property
    def pays_to_cache(self) -> bool:
        """True if the provider takes a price for what it has to cache anew."""
        return self.api_name == "messages"

    @property
    def model_name(self) -> str:
        """The model, or the one that the provider stands for."""
        return self.model or self.traits.default_model or ""

    @property
    def has_native_tools(self) -> bool:
        """True if the protocol's own tool calls are used."""
        return self.traits.has_native_tools if self.tool_calling == "auto" else self.tool_calling == "native"

    @property
    def url(self) -> str:
        """Where requests go, without a slash at the end."""
        return self.base_url or self._own_url()

    @property
    def is_local(self) -> bool:
        """True if requests stay on this machine."""
        return is_local(self.url)

    def resolve_key(self) -> str | None:
        """Return the key, None where the server wants none.

        A provider's own variable is read for its own address only, so that no key goes elsewhere.

        Raises:
            ConfigError: there is no key; the message tells which variable to set.
        """
        if self.api_key is not None:
            return read_key(self.api_key)
        variable = self.traits.key_variable
        if variable and urlsplit(self.url).hostname == urlsplit(self._own_url()).hostname:
            if key := os.environ.get(variable):
                return _as_header(key)
            raise ConfigError(
                f"provider {self.provider!r} takes its key from {variable}, which is not set. Run `export "
                f"{variable}=...` or write `api_key: NAME_OF_VARIABLE`.{hint_at_dotenv(variable)}"
            )
        if self.traits.is_keyless or self.is_local:
            return None
        raise ConfigError(
            f"the model {self.model_name!r} at {urlsplit(self.url).hostname} has no api_key. Write `api_key: "
            f"NAME_OF_VARIABLE`, or `api_key: {KEYLESS}` if the server needs no key."
        )

    def _own_url(self) -> str:
        """Return the provider's own address, ``""`` if it has none or the config does not complete it."""
        own = self.traits.base_url or ""
        if "{region}" not in own:
            return own.format(resource_name=self.resource_name)
        if not self.region:
            return ""
        region = resolve_env_value(self.region, "region")
        if not _REGION.fullmatch(region):  # it becomes part of a host that is sent the key
            raise ConfigError(
                f"region is {region!r}, which is not a region. Write one such as `region: us-east-1`"
            )
        return own.format(region=region)

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
        return tuple(value for value in found if value and len(value) >= SHORTEST_KEY)


def find_feature(api: str) -> Feature | None:
    """Return the feature that brings an API; None if there is none."""
    return next((feature for feature in list_features().values() if api in feature.apis), None)


def read_key(api_key: SecretStr) -> str | None:
    """Return the key that a block names, None for ``none``.

    Raises:
        ConfigError: the variable is not set, or holds what no header can carry.
    """
    given = api_key.get_secret_value().strip()
    return None if _is_placeholder(given) else _as_header(resolve_env_value(given))


def _as_header(key: str) -> str:
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            "the api_key has characters that no HTTP header can carry. Paste it again, without line "
            "breaks or typographic signs."
        )
    return key
