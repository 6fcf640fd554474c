"""The time that every line has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pytest_browsereval.model import messages


def test_a_time_lies_between_what_the_clock_says_before_and_after() -> None:
    """In UTC, to the millisecond."""
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    told = messages.now()
    after = datetime.now(UTC)
    assert before < datetime.fromisoformat(told) <= after
    assert len(told) == len("2026-11-23T05:23:11.357Z")


def test_a_second_begins_and_ends_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a clock is set back."""
    whole = 1_700_000_000 * 1_000_000_000
    times = [whole - 1, whole, whole + 7_999_999, whole - 1]
    monkeypatch.setattr("time.time_ns", lambda: times.pop(0))
    told = [messages.now().partition("T")[2] for _ in range(4)]
    assert told == ["22:13:19.999Z", "22:13:20.000Z", "22:13:20.007Z", "22:13:19.999Z"]
