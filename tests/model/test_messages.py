"""The time that every line has: the clock's, or the one that was written."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_browsereval.model.messages import UserMessage, read_message

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
