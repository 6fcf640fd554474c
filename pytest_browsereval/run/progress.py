"""State of an attempt while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from pydantic import JsonValue

from pytest_browsereval.errors import Fault, TerminationReason
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.results import AgentResult, TaskError
from pytest_browsereval.run.grading import Grading


@dataclass
class Progress:
    """What an attempt has come to so far; becomes its metadata."""

    started_at: str = field(default_factory=now)
    started: float = field(default_factory=time.perf_counter)
    agent_ms: float = 0.0
    result: AgentResult = field(default_factory=lambda: AgentResult(None, TerminationReason.ERROR))
    fault: Fault | None = None
    limit: str = ""
    """Which limit ended the agent."""
    final_url: str | None = None
    start_url: str | None = None
    evidence: dict[str, JsonValue] = field(default_factory=dict)
    unobserved: dict[str, str] = field(default_factory=dict)
    """Graders that could not observe the page, and why."""
    unobserved_details: dict[str, dict[str, JsonValue] | None] = field(default_factory=dict)
    grading: Grading = field(default_factory=Grading)
    errors: tuple[TaskError, ...] = ()
