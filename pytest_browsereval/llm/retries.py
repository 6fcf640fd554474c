"""When a request is tried again, and how long to wait before."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import random
import re
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

FORBIDDEN = 403
"""The key is refused, or this one request."""

TOO_MANY = 429
"""Tried again until the deadline: it says nothing but that it is too early."""

NOT_FOUND = 404
"""The server knows no such model, or has nothing at that address."""

MOST_SHOWN = 20
"""Of a list in an error body."""

QUOTA_CODE = "insufficient_quota"
"""A 429 that waiting does not fix."""

NO_MONEY = "credit balance is too low"
"""What Anthropic answers with status 400."""


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
        self.is_about_content = False
        """Whether the request was refused for what it holds, not for its key."""
        self._is_unanswered = is_unanswered
        self.may_be_billed = status is None
        """Whether the server may have done its work, which nobody has told the usage of."""
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
        """True if the model is not there, or not able to answer at all."""
        return self._is_unanswered or self.status == NOT_FOUND or (self.status or 0) >= 500

    @property
    def ends_the_run(self) -> bool:
        """True if no further request can succeed: key refused, account empty."""
        if self.status == FORBIDDEN and self.is_about_content:
            return False
        return self.status in KEY_STATUSES or self.status == MONEY_STATUS or self.code == QUOTA_CODE


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long: exponential back-off with full jitter, never before the provider's word."""

    max_tries: int = 5
    """Those answered with 429 do not count, unless it is 1."""
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
        jitter = self.draw() * min(self.cap_s, self.base_s * 2.0 ** min(tries - 1, 60))
        if failure.retry_after_s is None:
            return jitter
        # All lanes hear the same moment; a little jitter keeps them from coming at once, and a larger one
        # from asking for minutes where the moment is never right.
        return failure.retry_after_s + (min(jitter, self.base_s) if tries <= self.max_tries else jitter)

    def counts(self, failure: TryFailed) -> bool:
        """Return whether a failure is one of ``max_tries``."""
        return failure.status != TOO_MANY or self.max_tries == 1


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


def read_failure(
    body: Any, fallback: str, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> TryFailed:
    """Return what an error body says, a text or the JSON in it, no matter how the provider wraps it."""
    text = body
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(body) if isinstance(body, str) else body
    # Google's endpoint wraps errors in a list.
    body = body[0] if isinstance(body, list) and body else body
    inner = body.get("error") or body if isinstance(body, Mapping) else body
    found = inner if isinstance(inner, Mapping) else {}
    given = found.get("code")
    # Gateways have numbers of their own as well.
    in_body = int(str(given)) if re.fullmatch(r"[45]\d\d", str(given)) else None
    message = _find_message(inner) or fallback
    wait_s = retry_after(headers or {})
    failure = TryFailed(
        message,
        status=status or in_body,
        retry_after_s=_find_wait(text, message) if wait_s is None else wait_s,
        code=QUOTA_CODE if NO_MONEY in message else given if isinstance(given, str) else None,
    )
    failure.is_about_content = _ABOUT_CONTENT.search(f"{inner} {message}") is not None
    return failure


_MESSAGES = ("message", "msg", "detail", "details", "error", "errors", "error_msg", "status_msg", "base_resp")


def _find_message(value: Any, depth: int = 8) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:  # FastAPI names each field
        return "; ".join(filter(None, (_find_message(part, depth - 1) for part in value[:MOST_SHOWN])))
    if not isinstance(value, Mapping) or not depth:
        return ""
    said = next(filter(None, (_find_message(value.get(key), depth - 1) for key in _MESSAGES)), "")
    place, metadata = value.get("loc"), value.get("metadata")
    if said and isinstance(place, list):
        said = f"{'.'.join(map(str, place))}: {said}"
    # OpenRouter: what the provider behind it said, as it said it.
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    try:
        behind = _find_message(json.loads(raw) if isinstance(raw, str) else raw, depth - 1)
    except (ValueError, RecursionError):
        behind = str(raw)
    return ": ".join(filter(None, (said, behind)))


_ABOUT_CONTENT = re.compile(
    r"moderat|flagged|safety|guardrail|harmful|content[ _-](?:polic|filter|management)"
    r"|usage (?:guideline|polic)|'reasons': \[.",
    re.IGNORECASE,
)


# Google's field and words, and OpenAI's words; others have a header.
_ASKED = re.compile(
    r"(?:\"retryDelay\":\s*\"|\b(?:retry|try again) in )(\d{1,6}(?:\.\d{1,9})?) ?(m?)s(?![a-z])",
    re.IGNORECASE,
)


def _find_wait(body: Any, message: str) -> float | None:
    """Return the seconds that a body asks to wait."""
    asked = _ASKED.search(f"{body if isinstance(body, str) else ''} {message}")
    return float(asked[1]) / (1000 if asked[2] else 1) if asked else None
