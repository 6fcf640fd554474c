"""A service that is posted a task and a picture, and answers with an action: one request and its retries."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from pytest_browsereval.addresses import find_certificates, is_local
from pytest_browsereval.llm.api import Body
from pytest_browsereval.llm.client import exchange
from pytest_browsereval.llm.retries import RetryPolicy, TryFailed, read_failure
from pytest_browsereval.llm.server import Server
from pytest_browsereval.llm.wire import bound_reply
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    import httpx

_LOG = logging.getLogger("httpx")


class _Hidden(logging.Filter):
    """Takes the query of an address out of what the library logs: keys stand there."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(shown(self._url) if str(arg) == self._url else arg for arg in record.args)
        return True


class ActionService:
    """Talks to one service, for one attempt. Close it at the end.

    Args:
        url: where requests are posted.
        key: sent as a bearer token; None sends none.
        timeout_s: the most that one request may take.
        policy: how requests are tried again.
    """

    def __init__(self, url: str, key: str | None, timeout_s: float, policy: RetryPolicy) -> None:
        self._url = url
        self._key = key
        self._timeout_s = timeout_s
        self._policy = policy
        self._client: httpx.AsyncClient | None = None
        self._hidden = _Hidden(url)
        # Shared by attempts: an outage is told from a slow start by when it last answered.
        known = Server("service", shown(url), "the api_key" if key else "", lambda: (key or "",))
        self._server = _servers.setdefault((url, key), known)

    async def predict(self, instruction: str, picture: bytes, history: object) -> tuple[Body, int]:
        """Return what the service answers, and how many retries that took.

        Raises:
            Fault: source *provider*; it cannot be reached, or gives no usable reply.
            StopRun: it refuses the key.
        """
        body = {
            "instruction": instruction,
            "image_base64": base64.b64encode(picture).decode(),
            "history": history,
        }
        return await exchange("pointer", body, self._send)

    async def _send(self, body: Body) -> tuple[Body, int]:
        return await self._server.ask(self._policy, self._timeout_s, lambda: self._try(body))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        _LOG.removeFilter(self._hidden)

    async def _try(self, body: Body) -> Body:
        import httpx

        client = self._client = self._client or self._open()
        try:
            reply = await client.post(self._url, json=body)
        except httpx.HTTPError as error:
            why = f"the connection failed: {error or type(error).__name__}"
            raise TryFailed(why, is_unanswered=True) from None
        text, status = reply.content.decode(errors="replace"), reply.status_code
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if status >= 400:
            raise read_failure(text, text, status=status, headers=reply.headers)
        if status >= 300:
            # A redirected POST would become a GET, or send the key elsewhere.
            raise TryFailed(f"it redirects to {reply.headers.get('location', 'nowhere')!r}", status=status)
        if not isinstance(value, dict):
            raise TryFailed(f"the reply is not a JSON object: {beginning(text, 100)!r}")
        return value

    def _open(self) -> httpx.AsyncClient:
        import httpx

        _LOG.addFilter(self._hidden)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx.AsyncClient(
            headers=headers,
            verify=find_certificates(self._url),
            timeout=None,  # noqa: S113 one limit holds for the whole request, in _send
            # A proxy of the environment cannot reach this machine's own ports.
            trust_env=not is_local(self._url),
            event_hooks={"response": [bound_reply]},
        )


def shown(url: str) -> str:
    """Return an address without its query, which may hold a key."""
    return urlunsplit((*urlsplit(url)[:3], "", ""))


_servers: dict[tuple[str, str | None], Server] = {}
"""By address and key, as an attempt has a connection of its own: when each answered the last time."""

History = Sequence[Mapping[str, Any]]


def as_text(history: History) -> str:
    """Return earlier actions as one line, in the form that BrowserOS's service is trained on."""
    return " -> ".join(_line(action) for action in history) or "None"


def _line(action: Mapping[str, Any]) -> str:
    name = "press_key" if action["action"] == "press" else str(action["action"])
    x, y = _whole(action, "x"), _whole(action, "y")
    given = f"{x}, {y}" if "x" in action else ""
    match name:
        case "type":
            words = str(action.get("text", "")).replace("'", "\\'")
            given = f"'{words}'"
        case "press_key":
            given = f"'{action.get('key')}'"
        case "scroll":
            given = str(action.get("direction"))
        case "drag":
            given = f"{x},{y} -> {_whole(action, 'end_x')},{_whole(action, 'end_y')}"
        case "wait":
            given = f"{_whole(action, 'seconds') or 1}s"
    return f"{name}({given})"


def _whole(action: Mapping[str, Any], field: str) -> int:
    return round(float(action.get(field, 0)))
