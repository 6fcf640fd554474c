"""The time that pages see, as rows and configs write it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator


def _read(value: object) -> object:
    text = value.isoformat() if isinstance(value, date) else value  # YAML makes dates by itself
    try:
        datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(
            f"{value!r:.60} is not a time. Write one such as 2026-03-01T09:00, or 2026-03-01T09:00+01:00."
        ) from None
    return text


Clock = Annotated[str, BeforeValidator(_read, json_schema_input_type=str)]
"""ISO 8601."""


def resolve_clock(text: str, timezone_id: str | None) -> datetime:
    """Return the moment of a clock.

    Args:
        text: one without an offset is in the time zone of the page.
        timezone_id: of the page; None if it has that of the machine.
    """
    given = datetime.fromisoformat(text)
    if given.tzinfo is not None:
        return given
    if timezone_id is None:
        return given.astimezone()
    return given.replace(tzinfo=UTC if timezone_id == "UTC" else ZoneInfo(timezone_id))
