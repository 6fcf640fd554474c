"""When a request is tried again, and how long to wait before."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""Besides 500 and above."""

KEY_STATUSES = frozenset({401, 403})
"""The key is refused: no further request can succeed."""

MONEY_STATUS = 402
"""The account is empty: no further request can succeed."""

NOT_FOUND = 404
"""The server knows no such model, or has nothing at that address."""

QUOTA_CODE = "insufficient_quota"
"""A 429 that waiting does not mend."""


class TryFailed(Exception):
    """One request got no usable reply.

    Args:
        message: what happened, in the provider's words where it has some.
        status: the HTTP status, if there was one.
        retry_after_s: how long the provider asks to wait.
        code: the provider's own word for the error.
        is_unanswered: whether nobody answered at all.
        is_final: whether the same request would fail again.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        code: str | None = None,
        is_unanswered: bool = False,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self._is_final = is_final
        self._is_unanswered = is_unanswered
        self.status = status
        self.retry_after_s = retry_after_s
        self.code = code

    @property
    def is_worth_a_retry(self) -> bool:
        """True if the same request may succeed later."""
        if self.ends_the_run or self._is_final:
            return False
        return self.status is None or self.status in RETRIED_STATUSES or self.status >= 500

    @property
    def is_outage(self) -> bool:
        """True if the model is not there, or not able to answer whatever it is asked."""
        return self._is_unanswered or self.status == NOT_FOUND or (self.status or 0) >= 500

    @property
    def ends_the_run(self) -> bool:
        """True if no further request can succeed: key refused, account empty."""
        return self.status in KEY_STATUSES or self.status == MONEY_STATUS or self.code == QUOTA_CODE


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long: exponential back-off with full jitter, never before the provider's word."""

    max_tries: int = 5
    deadline_s: float = 600.0
    """The most that a reply may take, waiting included."""
    base_s: float = 1.0
    cap_s: float = 30.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = random.random
    """Returns a number from 0 to 1."""

    def delay(self, tries: int, failure: TryFailed) -> float:
        """Return the seconds to wait after so many tries."""
        # Full jitter spreads lanes best; aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter
        jitter = self.draw() * min(self.cap_s, self.base_s * 2.0 ** (tries - 1))
        if failure.retry_after_s is None:
            return jitter
        # All lanes hear the same moment; a little jitter keeps them from coming at once.
        return failure.retry_after_s + min(jitter, self.base_s)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that a response asks to wait, None if it does not say.

    Args:
        headers: of the response; both forms of ``Retry-After`` and OpenAI's ``retry-after-ms``.
        now: seconds since 1970; the present by default.
    """
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return _sane(float(milliseconds) / 1000)
        given = headers.get("retry-after")
        if given is None:
            return None
        try:
            return _sane(float(given))
        except ValueError:
            moment = parsedate_to_datetime(given).timestamp()
            return _sane(moment - (time.time() if now is None else now))
    except ValueError:
        return None


def _sane(seconds: float) -> float | None:
    # A header may say `inf` or `nan`, which Python reads as numbers.
    return max(0.0, seconds) if math.isfinite(seconds) else None


def read_error(body: Any, fallback: str) -> tuple[str, str | None]:
    """Return (message, code) of an error body, in whatever form the provider wraps it."""
    # Google's endpoint wraps errors in a list.
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            code = inner.get("code")
            message = inner.get("message")
            return (
                message if isinstance(message, str) and message else fallback,
                code if isinstance(code, str) else None,
            )
        if isinstance(inner, str) and inner:
            return inner, None
    return (body if isinstance(body, str) and body else fallback), None
