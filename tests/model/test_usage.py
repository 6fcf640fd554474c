"""What model calls used, added up."""

from __future__ import annotations

import pytest

from pytest_browsereval.model.usage import Usage


@pytest.mark.parametrize("used", [{"input_tokens": 5}, {"output_tokens": 5}, {"cost_usd": 0.5}])
def test_usage_counts_as_a_request(used: dict[str, float]) -> None:
    """Tokens or money without a number of requests count as one; nothing used is no request."""
    once = Usage.model_validate(used)
    assert once.requests == 1
    assert (once + once).model_dump() == Usage.model_validate(
        {k: 2 * v for k, v in used.items()} | {"requests": 2}
    ).model_dump()
    assert Usage().requests == 0
    assert Usage() + once == once
