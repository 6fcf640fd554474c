"""The tokens that a reply says it took."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.llm.retries import TryFailed
from pytest_browsereval.model.usage import Usage

MOST_TOKENS = 10**12
"""More than any model reads or writes in one call: a count beyond it is wrong."""


def read_usage(usage: Any) -> Usage:
    """Return the usage of one request.

    Raises:
        TryFailed: it counts absurdly.
    """
    if not isinstance(usage, Mapping):
        return Usage(requests=1)
    details = usage.get("prompt_tokens_details")
    given, made = (
        max(count_tokens(usage.get(name)) for name in names)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    )
    # Some count what a model thought in the total alone.
    rest = max(0, count_tokens(usage.get("total_tokens")) - given - made)
    details = details if isinstance(details, Mapping) else {}
    cached, written = (count_tokens(details.get(f"{name}_tokens")) for name in ("cached", "cache_write"))
    # A reply that counts only its total tokens has no known price.
    given, made = (rest, made) if made and not given else (given, made + rest)
    if max(given, made, cached, written) > MOST_TOKENS:
        raise TryFailed(f"the reply reports more than {MOST_TOKENS:,} tokens")
    return Usage(
        input_tokens=given,
        output_tokens=made,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        requests=1,
    )


def count_tokens(value: Any) -> int:
    """Return a number of tokens, no matter how it is written; 0 for what is not one."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float):
        value = math.ceil(value) if math.isfinite(value) else 0
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
