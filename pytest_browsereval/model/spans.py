"""Ids of an attempt's trace and its spans in OpenTelemetry, known before anything is exported."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class SpanIds(NamedTuple):
    """Where a span is: its trace, which is that of its attempt, and itself."""

    trace_id: str
    """32 hex digits."""
    span_id: str
    """16 hex digits."""

    @property
    def traceparent(self) -> str:
        """As W3C Trace Context writes it, sampled: what a span of another program names as its parent."""
        return f"00-{self.trace_id}-{self.span_id}-01"


def name_trace(attempt_id: str, node_id: str) -> str:
    """Return ``FILE::ATTEMPT``, with the file of the eval: evals of one name in a session share the rest.

    Args:
        attempt_id: as in ``name_attempt``, with the run that has made the attempt.
        node_id: of its item; of an imported attempt it is empty.
    """
    return "::".join(filter(None, (node_id.partition("::")[0], attempt_id)))


def derive_ids(trace_name: str, part: str = "") -> SpanIds:
    """Return the ids of a span; the same attempt and part have the same ones wherever they are asked for.

    Args:
        trace_name: as in ``name_trace``.
        part: ``call/ID`` of a tool call, ``delegation/ID``, ``turn/N``; "" is the attempt as a whole.
    """
    trace, span = (hashlib.sha256(text.encode()) for text in (trace_name, f"{trace_name}\n{part}"))
    return SpanIds(trace.hexdigest()[:32], span.hexdigest()[:16])


_current: ContextVar[tuple[str, str] | None] = ContextVar("browsereval_span", default=None)


@contextmanager
def in_span(part: str, trace_name: str | None = None) -> Iterator[None]:
    """Have a part of the attempt, or the attempt itself, be the parent of what programs do meanwhile."""
    known = _current.get()
    inner = (trace_name, part) if trace_name is not None else known and (known[0], part)
    token = _current.set(inner)
    try:
        yield
    finally:
        _current.reset(token)


def current_ids() -> SpanIds | None:
    """Return the innermost part that is being worked at; None outside of attempts."""
    known = _current.get()
    return known and derive_ids(*known)
