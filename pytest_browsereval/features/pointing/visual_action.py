"""The ``visual-action`` agent: a service over HTTP that is posted a picture and answers with an action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, TerminationReason
from pytest_browsereval.features.pointing.actions import (
    BadAction,
    Coordinates,
    PointingConfig,
    perform,
    refuse,
)
from pytest_browsereval.features.pointing.pictures import Sight
from pytest_browsereval.features.pointing.service import ActionService, as_text, shown
from pytest_browsereval.features.pointing.spellings import read_action
from pytest_browsereval.features.shared.tool_loop.loop import Picture
from pytest_browsereval.llm.client import needs_keys
from pytest_browsereval.llm.config import BOTH_SPELLINGS, SHORTEST_KEY, ApiKey, read_key
from pytest_browsereval.llm.retries import RetryPolicy
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.redaction.known import beginning

MAX_INVALID = 3
"""Replies without a valid action in a row that end the attempt."""

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
    coordinates: Coordinates = "normalized"
    """``normalized``: points are on a grid from 0 to 999; ``pixels``: they are pixels of the picture."""
    history: Literal["list", "text"] = "list"
    """Earlier actions: a list of objects, or one line as BrowserOS's service reads it."""
    max_predictions: int = Field(default=15, ge=1)
    """The most requests; ending the task with the last one is in time."""
    request_timeout_s: float = Field(default=120.0, gt=0)
    """The most that one request may take."""
    max_tries: int = Field(default=3, ge=1, le=20)
    """Requests for one reply, the first included: 429, 500 and above, and broken connections are retried."""
    retry_deadline_s: float = Field(default=600.0, gt=0)
    """The most that one reply may take, waiting between tries included."""

    @field_validator("url")
    @classmethod
    def _url_is_plain(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.username or parts.password:
            raise ValueError("a url must not hold a user name or password. Write `api_key: NAME_OF_VARIABLE`")
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
            key = None
        # Hosted services take their key in the query.
        query = urlsplit(self.url).query
        return tuple(value for value in (key, query) if value and len(value) >= SHORTEST_KEY)

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        policy = RetryPolicy(max_tries=self.max_tries, deadline_s=self.retry_deadline_s)
        return VisualActionAgent(context, self, policy)

    def preflight(self, base_dir: Path) -> None:
        """Check that there is a key if one is named.

        Raises:
            ConfigError: its variable is not set.
        """
        del base_dir
        if needs_keys():
            self.key()

    def label(self) -> str:
        """Return type and address."""
        return f"{self.type} {shown(self.url)}"


class VisualActionAgent(AgentEvaluator):
    """One attempt of a service that predicts actions."""

    def __init__(self, context: AgentContext, config: VisualActionConfig, policy: RetryPolicy) -> None:
        self._context = context
        self._config = config
        key = config.key() if needs_keys() else None
        self._service = ActionService(config.url, key, config.request_timeout_s, policy)
        self._sight = Sight(context.capture, config.coordinates)
        self._history: list[dict[str, Any]] = []

    async def execute(self) -> AgentResult:
        """Ask and act until the service ends the task, or predictions run out."""
        try:
            return await self._work()
        finally:
            await self._service.close()

    async def _work(self) -> AgentResult:
        context, invalid = self._context, 0
        picture = await self._look(None)
        for _ in range(self._config.max_predictions):
            is_valid = await self._step(picture)
            if context.tools.is_done:
                answer = context.tools.answer or None
                return AgentResult(answer, note="" if answer else self._course())
            invalid = 0 if is_valid else invalid + 1
            if invalid == MAX_INVALID:
                self._warn(f"stopped after {invalid} replies in a row without a valid action")
                return AgentResult(None)
            if is_valid:
                picture = await self._look(picture)
        note = f"max_predictions is {self._config.max_predictions}; all were used"
        return AgentResult(None, TerminationReason.MAX_STEPS, note=note)

    async def _step(self, picture: Picture) -> bool:
        """Do what the service answers; return whether that is an action."""
        body = await self._ask(picture)
        tools = self._context.tools
        try:
            # BrowserOS's service counts scrolling in thousandths of the viewport, and `done` may have no
            # text.
            action = read_action(body, ending="", unit="grid")
            result = await perform(action, self._sight.geometry, tools)
        except BadAction as error:
            await refuse(PREDICTION, body, str(error), tools)
            return False
        # What was refused is left out: the service would take it for done.
        self._history.append(action.plain() | ({} if result.ok else {"error": result.output}))
        return True

    async def _ask(self, picture: Picture) -> dict[str, Any]:
        as_lines = self._config.history == "text"
        done = [each for each in self._history if "error" not in each] if as_lines else self._history
        history = as_text(done) if as_lines else done
        query, capture = self._context.task.query, self._context.capture
        body, retries = await self._service.predict(query, picture.data, history)
        capture.log_assistant(beginning(json.dumps(body), LOGGED))
        if retries:
            capture.add_warning(ErrorSource.PROVIDER, f"the service answered only on try {retries + 1}")
        return body

    def _course(self) -> str:
        """Return what a service did that ended the task without words; what it typed is left out."""
        did = ", ".join(each["action"] for each in self._history if each["action"] != "done")
        return f"The task was ended after: {did}." if did else "The task was ended without an action."

    async def _look(self, last: Picture | None) -> Picture:
        """Return a picture of the page; the last one where none can be taken."""
        see = self._sight.now if last is None else self._sight.after_action
        picture = await see()
        window, tools = self._context.window, self._context.tools
        if picture is None and isinstance(window, PlaywrightWindow) and window.dialog is not None:
            # Nothing is drawn while a dialog is open, and the service has no word for one.
            self._warn("a dialog was dismissed, which the service could not be shown")
            # Dismissed: to accept could confirm what nobody has seen.
            await tools.call("handle_dialog", {"accept": False})
            picture = await see()
        picture = picture or last
        if picture is None:
            raise Fault(ErrorSource.SCREENSHOT, "no picture of the page can be taken to begin with")
        return picture

    def _warn(self, message: str) -> None:
        self._context.capture.add_warning(ErrorSource.AGENT, message)
