"""Sends traces to a receiver, one by one, and gives it up when it does not answer."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import requests
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_EXPORTER_OTLP_TRACES_HEADERS,
)
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.util.re import parse_env_headers

from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.redaction.names import header_secrets

if TYPE_CHECKING:
    from pytest_browsereval.features.otel.trace import TraceMaker

MOST_REFUSALS = 3
"""After so many in a row the receiver is given up: what it refuses it looks at, which takes its time."""


class Receiver:
    """A receiver, until it is away.

    Args:
        url: where traces go to.
        headers: of each request, besides those of the environment.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        # OTLP's own exporter reads the OTEL_* variables; of answers it only says whether it likes them.
        self._session = _Session()
        self.url = url
        self._headers = {**_read_headers(), **{name.lower(): value for name, value in headers.items()}}
        self._exporter = OTLPSpanExporter(endpoint=url, headers=self._headers, session=self._session)
        self._refusals = 0
        self.is_over = False
        """Whether nothing is sent any more."""
        self.why = ""
        """Why the latest spans were lost; not redacted."""

    def __enter__(self) -> Self:
        logging.getLogger(trace_exporter.__name__).addFilter(_drop)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger(trace_exporter.__name__).removeFilter(_drop)
        self._exporter.shutdown()

    def send(self, spans: Sequence[ReadableSpan]) -> bool:
        """Send spans in one request, and return whether all of them have arrived."""
        self._session.forget()
        is_sent = False
        with contextlib.suppress(requests.RequestException):  # older versions let it through
            is_sent = self._exporter.export(spans) is SpanExportResult.SUCCESS
        answer, error = self._session.answer, self._session.error
        if error is not None:
            self.why, self.is_over = _describe(error, self._session.timeout_s), True
        elif answer is None:
            self._refuse("the spans cannot be written as OTLP")
        elif not is_sent or answer.status_code >= 300:  # newer versions take a redirect for success
            self._refuse(answer.reason, answer.status_code)
        elif refused := _read_refusal(answer):
            self._refuse(refused, answer.status_code)
        else:
            self._refusals = 0
            return True
        return False

    def _refuse(self, why: str, status: int | None = None) -> None:
        """Note that spans were not taken.

        Args:
            why: the reason.
            status: of the answer; None if there was none.
        """
        self._refusals += 1
        self.why = one_line(why if status is None else f"HTTP status {status}, {why}", 300)
        self.is_over = self._refusals >= MOST_REFUSALS

    def list_secrets(self) -> tuple[str, ...]:
        """Return the values of all headers, which a receiver may repeat."""
        return header_secrets(self._headers.values())


def _read_headers() -> dict[str, str]:
    text = os.environ.get(OTEL_EXPORTER_OTLP_TRACES_HEADERS) or os.environ.get(OTEL_EXPORTER_OTLP_HEADERS, "")
    return dict(parse_env_headers(text, liberal=True))


class _Session(requests.Session):
    """Keeps what has come of the latest request."""

    answer: requests.Response | None = None
    error: Exception | None = None
    timeout_s = 0.0

    def forget(self) -> None:
        self.answer = self.error = None

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        self.timeout_s = options.get("timeout") or 0.0
        try:
            # A page to log in at is not a receiver, and must not get the headers.
            self.answer = super().send(request, **{**options, "allow_redirects": False})
        except Exception as error:
            self.error = error
            raise
        return self.answer


def _drop(_: logging.LogRecord) -> bool:
    """Log nothing: what is lost is said once, at the end."""
    return False


def _describe(error: Exception, timeout_s: float) -> str:
    """Return why there is no answer; never the error's own text, which has the URL in it."""
    if isinstance(error, requests.Timeout):
        return f"no answer within {round(timeout_s, 1):g} s"
    inner: BaseException = error
    while inner.__context__ is not None:
        inner = inner.__context__
    why = getattr(inner, "strerror", None) or type(error).__name__
    return f"it cannot be reached: {why}"


def _read_refusal(answer: requests.Response) -> str:
    """Return why a receiver has not taken all spans of a request that it has answered well; "" if it has.

    https://opentelemetry.io/docs/specs/otlp/#partial-success-1
    """
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        return "it answers with a page: this is not a trace receiver"
    with contextlib.suppress(Exception):  # a receiver may say anything
        found = ExportTraceServiceResponse.FromString(answer.content).partial_success
        if refused := found.rejected_spans:
            return f"{format_count(refused, 'span')} refused: {found.error_message}"
    return ""


def send_run(maker: TraceMaker, receiver: Receiver) -> tuple[int, tuple[str, ...]]:
    """Send the attempts of a run.

    Args:
        maker: makes their traces.
        receiver: sends them.

    Returns:
        How many trials were sent, and what was lost, in lines; the first says how much and why.
    """
    attempts = maker.run.attempts
    sent: set[str] = set()
    for attempt in attempts:
        if receiver.send(maker.make(attempt)):
            sent.add(attempt.id)
        if receiver.is_over:  # the other traces need not be made
            break
    missing = [one for one in attempts if one.id not in sent]
    lines = []
    if missing:
        lines.append(f"{len(missing)} of {format_count(len(attempts), 'attempt')}: {receiver.why}")
        lines += [f"{one.trial_id} was not sent" for one in missing if one.counts]
    return sum(one.counts for one in attempts if one.id in sent), tuple(lines)
