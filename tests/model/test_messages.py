"""The time that every line has: the clock's, or the one that was written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from pytest_browsereval.model import messages
from pytest_browsereval.model.messages import UserMessage, read_message


def test_a_time_lies_between_what_the_clock_says_before_and_after() -> None:
    """In UTC, to the millisecond."""
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    told = messages.now()
    after = datetime.now(UTC)
    assert before < datetime.fromisoformat(told) <= after
    assert len(told) == len("2026-11-23T05:23:11.357Z")


def test_a_second_begins_and_ends_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the clock is set back."""
    whole = 1_700_000_000 * 1_000_000_000
    times = [whole - 1, whole, whole + 7_999_999, whole - 1]
    monkeypatch.setattr("time.time_ns", lambda: times.pop(0))
    told = [messages.now().partition("T")[2] for _ in range(4)]
    assert told == ["22:13:19.999Z", "22:13:20.000Z", "22:13:20.007Z", "22:13:19.999Z"]


RIGHT = (
    *("2026-05-01T10:00:00.000Z", "2026-05-01T10:00:00+02:00", "2026-05-01T10:00:00.123456789-0330"),
    *("2026-05-01T10:00Z", "2026-05-01T10:00:00", "2024-02-29T00:00:00Z", ""),
)
WRONG = (
    *("not a time", "2026-05-01", "10:00:00Z", "2026-05-01 10:00:00Z", "2026-13-01T10:00:00Z"),
    *("2025-02-29T00:00:00Z", "1777629600", "2026-05-01T10:00:00Zulu", "\u0662026-05-01T10:00:00Z"),
)


def test_a_timestamp_is_kept_as_it_is_written(subtests: pytest.Subtests) -> None:
    """ISO 8601 with a date and a time; empty if another system has none."""
    for given in RIGHT:
        with subtests.test(given=given):
            assert UserMessage(content="Go.", timestamp=given).timestamp == given


def test_what_is_not_a_date_time_is_refused(subtests: pytest.Subtests) -> None:
    """The message has an example."""
    for given in WRONG:
        with (
            subtests.test(given=given),
            pytest.raises(ValidationError, match="is not an ISO 8601 date-time, such as 2026-05-01T10:00"),
        ):
            UserMessage(content="Go.", timestamp=given)


def test_a_line_has_its_own_time() -> None:
    """A line without a time is damaged: the time of reading is not that of the message."""
    read = read_message('{"type": "user", "content": "Go.", "timestamp": "2026-05-01T10:00:00Z"}')
    assert read == UserMessage(content="Go.", timestamp="2026-05-01T10:00:00Z")
    with pytest.raises(ValueError, match="the user has no timestamp"):
        read_message('{"type": "user", "content": "Go."}')
