from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from pytest_browsereval.llm.retries import read_failure, retry_after


def test_retry_after_is_read_in_seconds(subtests: pytest.Subtests) -> None:
    """Seconds, milliseconds and nonsense are told apart."""
    cases: list[tuple[dict[str, str], float | None]] = [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ]
    for headers, seconds in cases:
        with subtests.test(headers=headers, seconds=seconds):
            assert retry_after(headers) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    """An HTTP date is the time until then; one in the past is no time at all."""
    start = datetime(2030, 1, 1, tzinfo=UTC)
    header = {"retry-after": format_datetime(start + timedelta(seconds=42), usegmt=True)}
    assert retry_after(header, start.timestamp()) == 42
    assert retry_after(header, start.timestamp() + 100) == 0


RAW = json.dumps({"error": {"message": "behind", "code": 7}})


def test_error_bodies_of_all_forms_are_read(subtests: pytest.Subtests) -> None:
    """Providers wrap their message in different ways."""
    cases: list[tuple[Any, str, int | None, str | None]] = [
        ({"error": {"message": "m", "code": "c"}}, "m", None, "c"),
        ({"message": "m", "code": 429}, "m", 429, None),
        ({"error": {"message": "m", "code": "503"}}, "m", 503, "503"),
        ({"error": {"message": "m", "code": 1302}}, "m", None, None),
        ([{"error": {"message": "m"}}], "m", None, None),
        ({"error": "m", "code": "c"}, "m", None, None),
        ("plain", "plain", None, None),
        ('{"error": "m"}', "m", None, None),
        ({}, "fallback", None, None),
        (None, "fallback", None, None),
        ({"error": {"metadata": 3}}, "fallback", None, None),
        ({"detail": "m"}, "m", None, None),
        ({"detail": [{"loc": ["body", 0], "msg": "m"}, {"msg": "n"}]}, "body.0: m; n", None, None),
        ({"errors": [{"message": "m"}]}, "m", None, None),
        ({"object": "error", "message": "m", "code": 400}, "m", 400, None),
        ({"base_resp": {"status_code": 1004, "status_msg": "m"}}, "m", None, None),
        ({"error": {"message": "m", "metadata": {"raw": "behind"}}}, "m: behind", None, None),
        ({"error": {"message": "m", "metadata": {"raw": RAW}}}, "m: behind", None, None),
        ({"error": {"error": {"error": {"message": "m"}}}}, "m", None, None),
    ]
    for body, message, status, code in cases:
        with subtests.test(body=body, message=message, status=status):
            failure = read_failure(body, "fallback")
            assert (str(failure), failure.status, failure.code) == (message, status, code)


def test_a_wait_is_read_in_the_body(subtests: pytest.Subtests) -> None:
    """In Google's field, or in words; what the headers say goes before."""
    cases: list[tuple[str, float | None]] = [
        ('[{"error": {"details": [{"reason": "x"}, {"retryDelay": "25s"}]}}]', 25),
        ('{"error": {"message": "Limit 100, used 99. Please try again in 12.5s. Visit us."}}', 12.5),
        ('{"error": {"message": "Please try again in 20ms."}}', 0.02),
        ('{"error": {"message": "Slow down: 60 requests in 60 s are allowed."}}', None),
    ]
    for body, seconds in cases:
        with subtests.test(body=body, seconds=seconds):
            assert read_failure(body, "").retry_after_s == seconds
            assert read_failure(body, "", headers={"retry-after": "3"}).retry_after_s == 3
