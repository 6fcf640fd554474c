from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.prices import cost_usd
from pytest_browsereval.llm.usage import read_usage
from pytest_browsereval.model.usage import Usage

USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, requests=1)


def cost(usage: Usage = USAGE, answered_as: str | None = None, **fields: Any) -> float | None:
    return asyncio.run(cost_usd(LLMConfig.model_validate(fields), usage, answered_as))


def test_a_listed_model_has_its_price() -> None:
    """The price list knows the model at its provider's address; cached tokens cost less."""
    full = cost(provider="openai", model="gpt-4o")
    cached = cost(USAGE.model_copy(update={"cache_read_tokens": 900_000}), provider="openai", model="gpt-4o")
    assert full is not None
    assert cached is not None
    assert 0 < cached < full


def test_every_provider_is_in_the_price_list(subtests: pytest.Subtests) -> None:
    """A known model of each has its price at the provider's own address; an unknown one has none."""
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("openai", "gpt-4o-mini", {}),
        ("azure", "gpt-4o", {"resource_name": "mine"}),
        ("anthropic", "claude-sonnet-4-5", {}),
        ("google", "gemini-2.5-flash", {}),
        ("openrouter", "moonshotai/kimi-k2", {}),
        ("moonshot", "kimi-k2-0905-preview", {}),
        ("bedrock", "openai.gpt-oss-20b-1:0", {"region": "us-west-2"}),
    ]
    for provider, model, more in cases:
        with subtests.test(provider=provider, model=model, more=more):
            known = cost(provider=provider, model=model, **more)
            assert known is not None
            assert known > 0
            assert cost(provider=provider, model="no-such-model-9", **more) is None


def test_nothing_is_free_unless_the_list_says_so() -> None:
    """A model that is listed without a price of text has none; one that is free costs 0."""
    assert cost(provider="openai", model="whisper-1") is None
    assert cost(provider="openrouter", model="deepseek/deepseek-r1:free") == 0


def test_a_request_that_nobody_counted_has_no_price() -> None:
    """Some servers count what they write alone, which is the smaller part of the cost."""
    prices = {"input_per_mtok": 2, "output_per_mtok": 10}
    for usage in (Usage(requests=1), Usage(output_tokens=10), read_usage({"total_tokens": 10})):
        assert cost(usage, provider="openai", model="gpt-4o", prices=prices) is None
    assert cost(Usage(input_tokens=10, requests=1), provider="openai", model="gpt-4o") is not None


def test_prices_of_the_config_come_first() -> None:
    """Dollars for a million tokens, in and out."""
    prices = {"input_per_mtok": 2, "output_per_mtok": 10}
    assert cost(provider="openai", model="gpt-4o", prices=prices) == pytest.approx(3.0)
    assert cost(provider="ollama", model="x", prices=prices) == pytest.approx(3.0)


def test_the_name_in_the_reply_helps_where_the_configured_one_is_unknown() -> None:
    """Deployments have names of their own; the reply tells the model behind one."""
    azure: dict[str, Any] = {"provider": "azure", "resource_name": "mine", "model": "our-deployment"}
    assert cost(**azure) is None
    assert cost(answered_as="gpt-4o", **azure) == cost(provider="openai", model="gpt-4o")


def test_a_price_is_never_guessed(subtests: pytest.Subtests) -> None:
    """Unknown models, local ones and unknown servers have no price, whatever the model is called."""
    cases: list[dict[str, Any]] = [
        {"provider": "openai", "model": "no-such-model-9"},
        {"provider": "ollama", "model": "gpt-4o"},
        {"provider": "ollama", "model": "llama3", "base_url": "http://gpu.example:11434/v1"},
        {"provider": "lmstudio", "model": "gpt-4o"},
        {"base_url": "http://127.0.0.1:1/v1", "model": "gpt-4o"},
        {"base_url": "https://gateway.example/v1", "model": "gpt-4o"},
    ]
    for fields in cases:
        with subtests.test(fields=fields):
            assert cost(**fields) is None
