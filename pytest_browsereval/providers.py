"""Model providers: where they are, which variable holds their key, what each supports."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from pytest_browsereval.errors import ConfigError, nearest
from pytest_browsereval.foreign_names import hint_at_dotenv

_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Provider:
    """A provider that answers over HTTP, by one of the ``APIS``."""

    name: str
    base_url: str | None = None
    """None: the config has to say it. ``{resource_name}`` and ``{region}`` are filled in from the config."""
    key_variable: str | None = None
    """The environment variable that is read when the config names no key; for its own URL only."""
    apis: Sequence[str] = ("chat",)
    """Which it has; the first is asked unless the config names another."""
    is_keyless: bool = False
    """It runs on one's own machine and wants no key."""
    has_native_tools: bool = True
    has_images: bool = True
    """Pictures in messages; whether a model sees them is the model's business."""
    has_json_schema: bool = True
    """It holds replies to a JSON schema."""
    has_seed: bool = True
    """Of chat completions; the other APIs have none."""
    output_limit_field: str = "max_tokens"
    """How a request spells ``max_output_tokens``."""
    default_model: str | None = None

    @property
    def asks_for(self) -> str:
        """The config's field that its base URL is made with, ``""`` if there is none."""
        return next(
            (name for name in ("resource_name", "region") if f"{{{name}}}" in (self.base_url or "")), ""
        )


APIS = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}
"""The APIs that models are asked by, and how their addresses end."""

_TABLES = yaml.safe_load(Path(__file__).with_name("providers.yaml").read_text(encoding="utf-8"))
PROVIDERS: dict[str, Provider] = {name: Provider(name, **keys) for name, keys in _TABLES["providers"].items()}
"""By name: the providers that a config can use as they are."""

REFUSED: dict[str, str] = _TABLES["refused"]
"""Providers of BrowserOS that have none of the APIs, and what to write instead."""

CAPABILITIES = {
    "native tools": "has_native_tools",
    "pictures": "has_images",
    "JSON schema": "has_json_schema",
    "seed": "has_seed",
}
"""What a provider may support, in words for a table, and the field that tells."""


def list_capabilities(provider: Provider) -> list[str]:
    """Return in words what a provider supports."""
    apis = "API " + " or ".join(provider.apis)
    return [apis] + [name for name, field in CAPABILITIES.items() if getattr(provider, field)]


def provider_named(name: str) -> Provider:
    """Return the provider of that name.

    Raises:
        ValueError: there is none, or it cannot be used; the message tells what to write instead.
    """
    if name in REFUSED:
        raise ValueError(f"provider {name!r} {REFUSED[name]}.")
    if name not in PROVIDERS:
        raise ValueError(
            f"unknown provider {name!r}.{nearest(name, PROVIDERS)} Known: {', '.join(PROVIDERS)}. "
            "Anything else that speaks chat completions, Anthropic's Messages or OpenAI's Responses is "
            "`openai-compatible` with a `base_url` and its `api`."
        )
    return PROVIDERS[name]


def is_variable_name(value: str) -> bool:
    """Return True if a value names an environment variable: capitals, digits, underscores."""
    return _VARIABLE_NAME.fullmatch(value) is not None


def resolve_env_value(value: str, field: str = "api_key") -> str:
    """Return what a value stands for: the variable that it names, else the value itself.

    Args:
        value: ``OPENAI_API_KEY``, say, which is never used as a key itself.
        field: the config's field, for the message.

    Raises:
        ConfigError: the variable is not set, or is empty.
    """
    if not is_variable_name(value):
        return value
    found = os.environ.get(value)
    if found:
        return found
    # A key may happen to be all capitals. One that does not read as a name is not shown.
    reads_as_name = "_" in value or value.isalpha()
    name = value if reads_as_name else "NAME"
    raise ConfigError(
        f"{field} is {value!r} in capitals, the name of an environment variable that is not set. "
        f"Run `export {name}=...` or write another variable's name.{hint_at_dotenv(name)}"
        if reads_as_name
        else f"{field} has capitals and digits only, like the name of an environment variable, but no such "
        f"variable is set. Write `{field}: NAME` and run `export NAME=...` with the key."
    )
