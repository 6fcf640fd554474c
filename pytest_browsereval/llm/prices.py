"""Prices of model calls: from the config, else from the price list; never guessed.

The list is asked by the address that requests go to, so a gateway's price is not taken for the provider's.
A model on one's own machine, regardless of its name, has a price only if the config says ``prices``.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.model.usage import Usage

FREE = ":free"
"""What names of models end with that cost nothing."""


async def cost_usd(config: LLMConfig, usage: Usage, model: str | None = None) -> float | None:
    """Return the price of a call in US dollars, None where it is not known.

    Args:
        config: which model was called, and where.
        usage: its tokens; without those of the request, the price is not known.
        model: the name that the provider answered under, if the configured one is not listed.
    """
    if not usage.input_tokens:  # a server that counts the reply alone, or nothing
        return None
    if config.prices is not None:
        return config.prices.cost_usd(usage)
    if config.is_local:
        return None
    if "genai_prices" not in sys.modules:
        # A quarter of a second, in which the other lanes go on.
        await asyncio.to_thread(import_module, "genai_prices")
    for name in (config.model_name, model):
        if name and (price := _look_up_price(config.url, name, usage)) is not None:
            return price
    return None


def _look_up_price(url: str, model: str, usage: Usage) -> float | None:
    import genai_prices  # loaded by cost_usd

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(tokens, model, provider_api_url=url)
    except (LookupError, ValueError):
        return None
    # A model that is listed with prices of audio only, say, is not free.
    is_priced = found.model_price.input_mtok is not None or model.endswith(FREE)
    return float(found.total_price) if is_priced else None
