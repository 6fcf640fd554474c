"""Usage of model calls: tokens, requests, cost."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Usage(BaseModel):
    """Tokens and money of one or more model calls."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cache_read_tokens: int = Field(default=0, ge=0)
    """Input tokens that the provider had in its cache."""
    cache_write_tokens: int = Field(default=0, ge=0)
    """Input tokens that the provider charged for adding to its cache."""
    requests: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    """None if the price of the model is not known; it is never guessed."""

    @model_validator(mode="before")
    @classmethod
    def _count_a_request(cls, data: Any) -> Any:
        """Count tokens or money without a number of requests as one request."""
        # Sums ignore a usage without requests, so its tokens would be lost.
        if isinstance(data, dict) and not data.get("requests"):
            is_used = any(data.get(name) for name in ("input_tokens", "output_tokens", "cost_usd"))
            return {**data, "requests": 1} if is_used else data
        return data

    def recheck(self) -> Usage:
        """Return the usage, validated again.

        Raises:
            ValueError: a number is negative or not finite, or is not a number.
        """
        # `model_copy(update=...)` of a plug-in is not validated: https://docs.pydantic.dev/latest/concepts/models/
        return Usage.model_validate(self.model_dump(warnings=False))

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; its cost is unknown if the cost of a part is unknown."""
        if not self.requests:
            return other
        if not other.requests:
            return self
        # A part without requests was returned above, so its unknown cost does not make the sum unknown.
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            requests=self.requests + other.requests,
            cost_usd=(self.cost_usd or 0) + (other.cost_usd or 0) if known else None,
        )
