"""The export ``otel``: sends a run to a receiver of OpenTelemetry."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.redaction.address import plain_url
from pytest_browsereval.redaction.names import header_secrets
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.runs.run import StoredRun

PATH = "/v1/traces"
DEFAULT_ENDPOINT = "http://localhost:4318"


class OtelExport(ExportConfig):
    """Sends a trace for each attempt to an OpenTelemetry receiver, by OTLP over HTTP.

    The variables ``OTEL_EXPORTER_OTLP_ENDPOINT``, ``_HEADERS``, ``_TIMEOUT`` and the like work as for any
    program. Ids follow from the attempts' and the file of the eval: a run that is sent twice appears once.
    """

    needs_names: ClassVar[bool] = False
    type: Literal["otel"] = "otel"
    endpoint: str | None = None
    """Where the receiver is; ``/v1/traces`` is added if it is missing. By default that of
    ``OTEL_EXPORTER_OTLP_ENDPOINT``, else ``http://localhost:4318``."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of every request, such as ``Authorization: Bearer ${TOKEN}``."""
    content: bool = False
    """Whether texts are sent too: queries, answers, replies, arguments and results of tools, reasons; never
    those of protected rows."""

    @field_validator("endpoint")
    @classmethod
    def _is_a_url(cls, value: str | None) -> str | None:
        url = urlsplit(value or DEFAULT_ENDPOINT)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("is not the URL of a receiver. Write `http://localhost:4318`")
        return value

    def secrets(self) -> tuple[str, ...]:
        """Return the values of headers, and what an endpoint's login and query hold."""
        url = urlsplit(self.url)
        headers = [value.get_secret_value() for value in self.headers.values()]
        return header_secrets(headers, url.query, url.password or "")

    @property
    def url(self) -> str:
        """Where traces are sent to."""
        own = self.endpoint or ""
        if not own and (exact := os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
            return exact
        base = own or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or DEFAULT_ENDPOINT
        parts = urlsplit(base)
        path = parts.path.rstrip("/")
        return parts._replace(path=path if path.endswith(PATH) else path + PATH).geturl()

    def preflight(self, base_dir: Path) -> None:
        """Check that the SDK is installed.

        Raises:
            ConfigError: it is not.
        """
        try:
            found = all(map(find_spec, ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")))
        except ModuleNotFoundError:  # the package around it
            found = False
        if not found:
            how = "Run `pip install 'pytest-browsereval[otel]'`"
            raise ConfigError(f"the export 'otel' needs the SDK of OpenTelemetry. {how}")
        if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            raise ConfigError("OTEL_SDK_DISABLED is true, so nothing would be sent. Unset it.")

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Send all attempts of the run.

        Raises:
            UsageError: the SDK is missing, or the run is damaged.
        """
        self.preflight(base_dir)
        from pytest_browsereval.features.otel.receiver import Receiver, send_run
        from pytest_browsereval.features.otel.trace import TraceMaker

        headers = {name: value.get_secret_value() for name, value in self.headers.items()}
        with Receiver(self.url, headers) as receiver:
            maker = TraceMaker(run, with_content=self.content)
            trials, lost = send_run(maker, receiver)
        redact = Redactor((*self.secrets(), *receiver.list_secrets())).redact
        return Exported(plain_url(self.url), trials, lost=tuple(map(redact, (*lost, *maker.damages))))
