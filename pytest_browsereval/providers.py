"""Model providers: where they are, which variable holds their key, what each supports."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pytest_browsereval.errors import ConfigError, nearest

_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Provider:
    """A provider that speaks the chat-completions protocol over HTTP."""

    name: str
    base_url: str | None = None
    """None: the config has to say it. ``{resource_name}`` is filled in from the config."""
    key_variable: str | None = None
    """The environment variable that is read when the config names no key; for its own URL only."""
    is_keyless: bool = False
    """It runs on one's own machine and wants no key."""
    has_native_tools: bool = True
    has_images: bool = True
    has_json_schema: bool = True
    has_seed: bool = True
    output_limit_field: str = "max_tokens"
    """How a request spells ``max_output_tokens``."""
    default_model: str | None = None


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            output_limit_field="max_completion_tokens",
            default_model="gpt-4o",
        ),
        Provider(
            "azure",
            "https://{resource_name}.openai.azure.com/openai/v1",
            "AZURE_OPENAI_API_KEY",
            output_limit_field="max_completion_tokens",
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            has_json_schema=False,
            has_seed=False,
        ),
        Provider(
            "google",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
        ),
        Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        Provider("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        Provider("ollama", "http://localhost:11434/v1", is_keyless=True),
        Provider("lmstudio", "http://localhost:1234/v1", is_keyless=True),
        Provider("openai-compatible"),
    )
}
"""By name: the providers that a config can use as they are."""

_GATEWAY = (
    "put a gateway that speaks chat completions in front of it and write  "
    "provider: openai-compatible  with its  base_url"
)
_PROGRAM = "run the program through an agent of type  command , or  "

REFUSED: dict[str, str] = {
    "bedrock": f"signs its requests in a way of its own: {_GATEWAY}",
    "browseros": "takes model, key and URL from a service of its vendor: write  provider ,  model  and  "
    "base_url  of the model behind it",
    "chatgpt-pro": "is a signed-in product, not an API: write  provider: openai  with an API key",
    "github-copilot": "is a signed-in product, not an API: write  provider: openai  with an API key",
    "qwen-code": f"is a signed-in product, not an API: {_GATEWAY}",
    "claude-code": f"is a program, not an API: {_PROGRAM}write  provider: anthropic",
    "codex": f"is a program, not an API: {_PROGRAM}write  provider: openai",
    "acp-custom": f"is a program, not an API: {_PROGRAM}{_GATEWAY}",
    "remote-hermes": f"has a protocol of its own: {_GATEWAY}",
    "clado-action": f"has a protocol of its own: {_GATEWAY}",
}
"""Providers of BrowserOS that do not speak chat completions over HTTP, and what to write instead."""


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
            "Anything else that speaks chat completions is  openai-compatible  with a  base_url ."
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
        f"{field} is {value!r} in capitals, which names an environment variable, and that is not set. "
        f"Type  export {name}=...  or write another variable's name."
        if reads_as_name
        else f"{field} holds capitals and digits only, which names an environment variable, and none of "
        f"that name is set. Write  {field}: NAME  and type  export NAME=...  with the key."
    )
