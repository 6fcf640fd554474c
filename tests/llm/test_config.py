from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.llm.config import LLMConfig


def config(**fields: Any) -> LLMConfig:
    return LLMConfig.model_validate({"provider": "openai", "model": "gpt-4o", **fields})


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_both_spellings_are_read() -> None:
    """BrowserOS's camelCase and our snake_case give the same settings; two values at once are an error."""
    camel = config(apiKey="MY_KEY", baseUrl="http://host/v1", reasoningEffort="high", maxOutputTokens=5)
    snake = config(api_key="MY_KEY", base_url="http://host/v1", reasoning_effort="high", max_output_tokens=5)
    assert camel == snake
    with pytest.raises(ValidationError, match="apiKey"):
        config(api_key="ONE", apiKey="TWO")


def test_every_field_of_browseros_is_accepted() -> None:
    """A BrowserOS block loads unchanged, fields without a meaning here included."""
    names = ["model", "apiKey", "resourceName", "region", "accessKeyId", "secretAccessKey", "sessionToken"]
    names += ["acpAgentId", "acpCommand", "acpFixedWorkspacePath"]
    block = {"provider": "openrouter", "providerId": "p1", "reasoningSummary": "auto"}
    block |= dict.fromkeys(names, "x")
    assert LLMConfig.model_validate(block).provider_id == "p1"


def test_settings_that_cannot_work_are_refused(subtests: pytest.Subtests) -> None:
    """Each refusal says what to write; none waits for the first request."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"provider": "openai-compatible"}, "write `base_url"),
        ({"provider": "azure"}, "resource_name or a base_url"),
        ({"provider": "google", "seed": 3}, "leave `seed` out"),
        ({"provider": "ollama", "model": None}, "write `model: name`"),
        ({"provider": "anthropic", "seed": 3}, "leave `seed` out"),
        ({"base_url": "ftp://host"}, "'ftp://host' is not the url"),
        ({"base_url": "https://me:secret@host/v1"}, "must not contain a password or query"),
        ({"base_url": "https://host/v1?key=secret"}, "must not contain a password or query"),
        ({"provider": "bedrock"}, "bedrock' needs a region or a base_url. write `region: name`"),
        ({"provider": "bedrock", "region": "EU_REGION"}, "run `export eu_region=...`"),
        ({"provider": "bedrock", "region": "x.example/#"}, "region is 'x.example/#', which is not a region"),
        ({"temprature": 1}, "temprature"),
    ]
    for fields, told in cases:
        with subtests.test(fields=fields, told=told):
            with pytest.raises(ValidationError) as caught:
                config(**fields)
            assert told in str(caught.value).lower()


def test_a_key_is_in_no_text_of_the_config() -> None:
    """Neither in repr, str and JSON nor in the message about a neighbour; a dump in the process has it."""
    literal = config(api_key="sk-live-0123456789")
    assert "sk-live" not in repr(literal) + str(literal) + literal.model_dump_json()
    assert LLMConfig.model_validate(literal.model_dump()).resolve_key() == "sk-live-0123456789"
    # A name is no secret, and a manifest should tell which key was used.
    assert config(api_key="MY_KEY").model_dump(mode="json")["api_key"] == "MY_KEY"
    with pytest.raises(ValidationError) as caught:
        config(api_key="sk-live-0123456789", provider="anthropic", seed=1)
    assert "sk-live" not in str(caught.value)


def test_where_a_key_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The named variable, else the provider's own at its address; local servers and `none` need no key."""
    told = "^provider 'openai' takes its key from OPENAI_API_KEY, .* `export OPENAI_API_KEY="
    with pytest.raises(ConfigError, match=told):
        config().resolve_key()
    monkeypatch.setenv("MY_KEY", "sk-env-0123456789\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own-0123456789")
    assert config(api_key="MY_KEY").resolve_key() == "sk-env-0123456789"
    assert config().resolve_key() == "sk-own-0123456789"
    with pytest.raises(ConfigError, match=r"at elsewhere.example has no api_key"):
        config(base_url="https://elsewhere.example/v1").resolve_key()
    for keyless in (
        {"base_url": "http://127.0.0.1:9/v1"},
        {"provider": "ollama"},
        {"provider": "lmstudio"},
        {"base_url": "http://gpu.example/v1", "api_key": "none"},
    ):
        assert config(**keyless).resolve_key() is None
    # A typographic dash from a web page; the key is not shown.
    monkeypatch.setenv("MY_KEY", "sk\N{EN DASH}0123456789")
    with pytest.raises(ConfigError, match="Paste it again") as caught:
        config(api_key="MY_KEY").resolve_key()
    assert "0123456789" not in str(caught.value)


def test_secrets_are_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key and the cloud fields are secrets; the variable's name and short place-holders are not."""
    monkeypatch.setenv("MY_KEY", "sk-env-0123456789")
    full = config(api_key="MY_KEY", secret_access_key="aws-secret-value")
    assert full.secrets() == ("sk-env-0123456789", "aws-secret-value")
    assert config(provider="ollama", api_key="ollama").secrets() == ()
    assert config(api_key="UNSET_NAME").secrets() == ()


def test_addresses_are_made_of_provider_and_settings() -> None:
    """The provider's address, the given one, or Azure's with its resource."""
    assert config().url == "https://api.openai.com/v1"
    assert config(base_url="http://host/v1/chat/completions").url == "http://host/v1"
    azure = config(provider="azure", resource_name="mine")
    assert azure.url == "https://mine.openai.azure.com/openai/v1"


def test_bedrock_is_asked_in_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """The region is a value or a variable, as BrowserOS writes it; its own key goes there only."""
    monkeypatch.setenv("MY_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-0123")
    url = "https://bedrock-runtime.{}.amazonaws.com/openai/v1"
    given = config(provider="bedrock", region="us-gov-west-1")
    named = config(provider="bedrock", region="MY_REGION")
    assert (given.url, named.url) == (url.format("us-gov-west-1"), url.format("eu-central-1"))
    assert named.resolve_key() == "bedrock-api-key-0123"
    assert named.secrets() == ("bedrock-api-key-0123",)
    elsewhere = config(provider="bedrock", base_url="https://vpce-1.example/openai/v1")
    with pytest.raises(ConfigError, match=r"at vpce-1.example has no api_key"):
        elsewhere.resolve_key()
    # A BrowserOS block needs one more line to work here, and none less.
    keys = {"accessKeyId": "AWS_ACCESS_KEY_ID", "secretAccessKey": "AWS_SECRET_ACCESS_KEY"}
    block = config(provider="bedrock", region="us-east-1", api_key="AWS_BEARER_TOKEN_BEDROCK", **keys)
    assert block.url.startswith("https://bedrock-runtime.us-east-1.")
