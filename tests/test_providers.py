from __future__ import annotations

import pytest

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.providers import PROVIDERS, REFUSED, provider_named, resolve_env_value

BROWSEROS = [
    *("anthropic", "openai", "google", "openrouter", "azure", "ollama", "lmstudio", "bedrock", "browseros"),
    *("openai-compatible", "moonshot", "chatgpt-pro", "github-copilot", "qwen-code", "claude-code", "codex"),
    *("acp-custom", "remote-hermes", "clado-action"),
]


def test_every_provider_of_browseros_is_known() -> None:
    """Each name that a BrowserOS config may have is either usable or refused with what to write."""
    assert sorted(BROWSEROS) == sorted([*PROVIDERS, *REFUSED])


BLOCKS = {
    "claude-code": "{type: command, preset: claude-code}",
    "codex": "{type: command, preset: codex}",
    "chatgpt-pro": "{type: command, preset: codex}",
    "clado-action": "{type: visual-action, url: http://HOST:PORT/PATH}",
}
"""Programs that are agents of their own, as they can be written."""


def test_a_provider_of_another_protocol_is_refused_with_what_to_write(subtests: pytest.Subtests) -> None:
    """A BrowserOS provider that cannot be used is told by name, with a line to write instead."""
    for name in sorted(REFUSED):
        with subtests.test(name=name):
            with pytest.raises(ValueError, match=f"provider '{name}' .*write ") as caught:
                provider_named(name)
            words = [BLOCKS[name]] if name in BLOCKS else ["provider: ", "{type: ", "`provider`, "]
            assert any(word in str(caught.value) for word in words), caught.value


def test_a_misspelt_provider_is_told_its_nearest_name() -> None:
    """The message has the given value, the nearest name and all names."""
    with pytest.raises(ValueError, match=r"'opnai'.* Did you mean 'openai'\? Known: .*moonshot"):
        provider_named("opnai")


def test_a_capital_value_is_the_name_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content is used, never its name; any other value stands for itself."""
    monkeypatch.setenv("MY_MODEL_KEY", "sk-from-the-environment")
    assert resolve_env_value("MY_MODEL_KEY") == "sk-from-the-environment"
    assert resolve_env_value("sk-Literal") == "sk-Literal"
    assert resolve_env_value("us-east-1") == "us-east-1"
    for content in ("", None):
        monkeypatch.delenv("MY_MODEL_KEY")
        if content is not None:
            monkeypatch.setenv("MY_MODEL_KEY", content)
        with pytest.raises(ConfigError, match=r"api_key is 'MY_MODEL_KEY'.*export MY_MODEL_KEY=\.\.\."):
            resolve_env_value("MY_MODEL_KEY")
    # What reads as a key rather than as a name stays out of the message.
    with pytest.raises(ConfigError) as caught:
        resolve_env_value("A1B2C3D4E5F6")
    assert "A1B2" not in str(caught.value)
