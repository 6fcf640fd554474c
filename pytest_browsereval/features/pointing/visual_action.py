"""The ``visual-action`` agent: a service over HTTP that is posted a picture and answers with an action."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator

from pytest_browsereval.addresses import find_certificates, is_local
from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault
from pytest_browsereval.features.pointing.agent import PointingAgent, PointingConfig
from pytest_browsereval.features.shared.tool_loop.loop import Picture
from pytest_browsereval.llm.api import Body
from pytest_browsereval.llm.client import exchange, needs_keys
from pytest_browsereval.llm.config import BOTH_SPELLINGS, SHORTEST_KEY, ApiKey, read_key
from pytest_browsereval.llm.retries import RetryPolicy, TryFailed, read_failure
from pytest_browsereval.llm.server import Server
from pytest_browsereval.llm.wire import bound_reply
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    import httpx

PREDICTION = "prediction"
"""What a reply without a valid action is recorded as a call of."""

LOGGED = 2_000
"""Characters of a reply that are recorded."""


class VisualActionConfig(PointingConfig):
    """Your own service: it gets ``{instruction, image_base64, history}`` and answers with an action."""

    model_config = ConfigDict(alias_generator=BOTH_SPELLINGS, hide_input_in_errors=True)

    type: Literal["visual-action"] = "visual-action"
    url: str
    """Where the picture is posted."""
    api_key: ApiKey | None = None
    """The name of an environment variable whose value is sent as a bearer token; none is sent by default."""
    history: Literal["list", "text"] = "list"
    """Earlier actions: a list of objects, or one line as BrowserOS's service reads it."""
    max_predictions: int = Field(default=15, ge=1)
    """How many requests may be made; the last one may still end the task."""
    request_timeout_s: float = Field(default=120.0, gt=0)
    """How long one request may take."""
    max_tries: int = Field(default=3, ge=1, le=20)
    """Requests for one reply, the first included: 429, 500 and above, and broken connections are retried."""
    retry_deadline_s: float = Field(default=600.0, gt=0)
    """How long one reply may take, waiting between tries included."""

    @field_validator("url")
    @classmethod
    def _url_is_plain(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.username or parts.password or parts.query:  # the libraries log addresses
            raise ValueError("a url must not contain a password or query. Write `api_key: NAME_OF_VARIABLE`")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is not the address of a service. Write `url: http://HOST:PORT/PATH`")
        return value

    def key(self) -> str | None:
        """Return the key, None where none is sent.

        Raises:
            ConfigError: the variable is not set, or holds what no header can carry.
        """
        return None if self.api_key is None else read_key(self.api_key)

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must never be written; a variable that is not set has none."""
        try:
            key = self.key()
        except ConfigError:
            return ()
        return (key,) if key and len(key) >= SHORTEST_KEY else ()

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        policy = RetryPolicy(max_tries=self.max_tries, deadline_s=self.retry_deadline_s)
        return VisualActionAgent(context, self, policy)

    def preflight(self, base_dir: Path) -> None:
        """Check that there is a key if one is named.

        Raises:
            ConfigError: its variable is not set.
        """
        if needs_keys():
            self.key()

    def label(self) -> str:
        """Return type and address."""
        return f"{self.type} {self.url}"


class VisualActionAgent(PointingAgent):
    """One attempt of a service that predicts actions."""

    def __init__(self, context: AgentContext, config: VisualActionConfig, policy: RetryPolicy) -> None:
        super().__init__(context, config.coordinates, (config.max_predictions, "max_predictions"))
        self._config = config
        key = config.key() if needs_keys() else None
        self._service = ActionService(config.url, key, config.request_timeout_s, policy)
        self._picture: Picture | None = None
        self._history: list[dict[str, Any]] = []

    async def take_turn(self) -> bool:
        """Do what the service answers; return whether that is an action."""
        body = await self._ask()
        # BrowserOS's service counts scrolling in thousandths of the viewport, and `done` may have no text.
        action, result = await self.act(PREDICTION, body, ending="", unit="grid")
        # What was refused is left out: the service would take it for done.
        if action is not None:
            given = action.model_dump(mode="json", exclude_defaults=True, exclude={"unit"})
            self._history.append(given | ({} if result.ok else {"error": result.output}))
        return action is not None

    async def _ask(self) -> dict[str, Any]:
        assert self._picture is not None  # noqa: S101 it has begun
        history: Any = self._history
        if self._config.history == "text":
            history = as_text([each for each in history if "error" not in each])
        query, capture = self._context.task.query, self._context.capture
        body, retries = await self._service.predict(query, self._picture.data, history)
        capture.log_assistant(beginning(json.dumps(body), LOGGED))
        if retries:
            capture.add_warning(ErrorSource.PROVIDER, f"the service answered only on try {retries + 1}")
        return body

    def conclude(self) -> AgentResult:
        """Return the answer, or what a service did that ended the task without words."""
        if answer := self._context.tools.answer:
            return AgentResult(answer)
        # What it typed is left out.
        did = ", ".join(each["action"] for each in self._history if each["action"] != "done")
        note = f"The task was ended after: {did}." if did else "The task was ended without an action."
        return AgentResult(None, note=note)

    async def begin(self) -> None:
        """Look at the page.

        Raises:
            Fault: it cannot be drawn.
        """
        await self.look_again()
        if self._picture is None:
            raise Fault(ErrorSource.SCREENSHOT, "no picture of the page can be taken to begin with")

    async def look_again(self) -> None:
        """Look at the page; the last picture stays where none can be taken."""
        picture = await self.see()
        window = self._context.window
        if picture is None and isinstance(window, PlaywrightWindow) and window.dialog is not None:
            # Nothing is drawn while a dialog is open, and the service has no word for one.
            self.warn("a dialog was dismissed, because the service could not be shown it")
            # Dismissed: to accept could confirm what nobody has seen.
            await self._context.tools.call("handle_dialog", {"accept": False})
            picture = await self.see()
        self._picture = picture or self._picture

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._service.close()


# -- the service


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
        # Shared by attempts: when it last answered tells an outage from a slow start.
        known = Server("service", url, "the api_key" if key else "", lambda: (key or "",))
        self._server = _servers.setdefault((url, key), known)

    async def predict(self, instruction: str, picture: bytes, history: object) -> tuple[Body, int]:
        """Return what the service answers, and how many retries that took.

        Raises:
            Fault: source *provider*; it cannot be reached, or gives no usable reply.
            StopRun: it refuses the key.
        """
        encoded = base64.b64encode(picture).decode()
        body = {"instruction": instruction, "image_base64": encoded, "history": history}
        return await exchange("pointer", body, self._send)

    async def _send(self, body: Body) -> tuple[Body, int]:
        return await self._server.ask(self._policy, self._timeout_s, lambda: self._try(body))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

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
        if value.get("error"):
            raise read_failure(value, "an error without a message")
        return value

    def _open(self) -> httpx.AsyncClient:
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx.AsyncClient(
            headers=headers,
            verify=find_certificates(self._url),
            timeout=None,  # noqa: S113 one limit holds for the whole request, in _send
            # A proxy of the environment cannot reach this machine's own ports.
            trust_env=not is_local(self._url),
            event_hooks={"response": [bound_reply]},
        )


_servers: dict[tuple[str, str | None], Server] = {}
"""By address and key, as an attempt has a connection of its own: when each answered the last time."""


def as_text(history: Sequence[Mapping[str, Any]]) -> str:
    """Return earlier actions as one line, in the form that BrowserOS's service is trained on."""
    return " -> ".join(map(_line, history)) or "None"


def _line(action: Mapping[str, Any]) -> str:
    name = "press_key" if action["action"] == "press" else str(action["action"])
    x, y, end_x, end_y, seconds = (
        round(float(action.get(field, 0))) for field in ("x", "y", "end_x", "end_y", "seconds")
    )
    words = str(action.get("text", "")).replace("'", "\\'")
    given = {
        "type": f"'{words}'",
        "press_key": f"'{action.get('key')}'",
        "scroll": str(action.get("direction")),
        "drag": f"{x},{y} -> {end_x},{end_y}",
        "wait": f"{seconds or 1}s",
    }
    return f"{name}({given.get(name, f'{x}, {y}' if 'x' in action else '')})"
