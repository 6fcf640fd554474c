"""How an attempt ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Ending:
    """Where an attempt began and how it ended."""

    start_url: str | None = None
    of_window: Mapping[str, Any] = field(default_factory=dict)
    """What the window knew at the end."""
    limit: str = ""
    """Which limit ended the agent."""
    went_on_s: float = 0.0
    """How long the agent continued after that."""
    broken_page: str = ""
    """Which error of a site the last page is."""
    agent_duration_ms: float = 0.0

    def figures(self, redact: Callable[[str], str]) -> dict[str, Any]:
        """Return the fields of ``TaskMetadata`` about it."""
        return {
            "start_url": self.start_url,
            "limit": redact(self.limit),
            "went_on_s": round(self.went_on_s, 3),
            "broken_page": redact(self.broken_page),
            "agent_duration_ms": round(self.agent_duration_ms, 3),
        }
