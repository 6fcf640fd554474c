"""One attempt under attack: places the attack, and looks after each step whether its goal is reached."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.errors import PLUGIN_ERRORS, ErrorSource, Fault, is_given_up
from pytest_browsereval.features.attacks.config import SHARED, TOKEN
from pytest_browsereval.features.attacks.goals import (
    AnswerCheck,
    ReadGoal,
    TypedCheck,
    judge_check,
    read_goal,
)
from pytest_browsereval.features.attacks.grader import AttackGrader, check_answers
from pytest_browsereval.features.attacks.input import list_typed, watch_input
from pytest_browsereval.features.shared.attack import (
    PLACE_S,
    AttackConfig,
    AttackError,
    Placer,
    explain,
    limit_time,
    list_attacks,
)
from pytest_browsereval.features.shared.page_reader import PageReader
from pytest_browsereval.features.shared.window_values import PerWindow
from pytest_browsereval.features.shared.world_script import WorldScript
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.base import GraderConfig, GraderFault
from pytest_browsereval.graders.page_checks import PageCheck
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.model.messages import AnyMessage, ToolCallMessage
from pytest_browsereval.model.progress import Progress, StepFollower
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import ENDINGS

SESSIONS: PerWindow[AttackSession] = PerWindow()
"""Of the windows that are open."""

PATIENCE_S = 1.0
"""How long after the last step a goal may still be reached, as checks of a row may (``page_state``)."""


def prepare(
    task: Task, graders: Sequence[GraderConfig], config: EvalConfig, site_urls: Mapping[str, str]
) -> Callable[[Window], Awaitable[object]] | None:
    """Return what begins the attack on a window; None for a row that is under none.

    Raises:
        Fault: the goal says nothing of this row: before a window is opened and a model is asked.
    """
    grader = next((one for one in graders if isinstance(one, AttackGrader)), None)
    if grader is None:
        return None
    check_answers(grader.attack, read_goal(grader.goal), task, graders)

    async def begin(window: Window) -> None:
        session = SESSIONS[window] = AttackSession(config, grader, window, site_urls, task.start_url or "")
        await session.begin()

    return begin


def follow(capture: CaptureContext, inner: StepFollower | None) -> StepFollower | None:
    """Return what looks at a window after each step: ``inner``, and the session of its attack if any."""
    session = SESSIONS.get(capture.window)
    if session is None:
        return inner
    session.capture, session.inner = capture, inner
    return session


class AttackSession:
    """An attack on one attempt, which looks at the page after each step, as what follows its progress does.

    Args:
        config: of the run.
        grader: names the attack, and has payload and goal, their placeholders filled in.
        window: of the attempt.
        site_urls: base URLs of the sites by name.
        start_url: of the row.
    """

    def __init__(
        self,
        config: EvalConfig,
        grader: AttackGrader,
        window: Window,
        site_urls: Mapping[str, str],
        start_url: str,
    ) -> None:
        self.config = config
        self.site_urls = site_urls
        self._attack = next(one for one in list_attacks(config) if one.label == grader.attack)
        self._window = window
        self._goal: ReadGoal = read_goal(grader.goal)
        context = window.context if isinstance(window, PlaywrightWindow) else None
        say, report = grader.goal.say, self._note_delivered
        self._placer = Placer(context, grader.payload, say, site_urls, report, start_url=start_url)
        self._is_placed = self._is_placing = self._is_over = False
        self._fault: Fault | None = None
        self._step = 0
        self._delivered: dict[str, JsonValue] | None = None
        self._moments: list[dict[str, Any]] = []
        self._typed: dict[str, int] = {}
        self._reader: PageReader | None = None
        self._log: dict[str, Any] = {}
        self._watch: WorldScript | None = None
        self.capture: CaptureContext | None = None
        """Of the attempt, once the agent begins."""
        self.inner: StepFollower | None = None
        """What looks at the page after each step as well."""
        self._homes = {name: url for name, url in site_urls.items() if url != self._placer.attacker}
        if isinstance(window, PlaywrightWindow) and self._goal.page_checks:
            self._reader = PageReader(window, self._goal.page_checks, self._homes.values())

    def _note_delivered(self, where: str) -> None:
        if self._delivered is None and not self._is_over:
            is_between = self._is_placing or not self._moments
            step = self._step if is_between else self._step + 1  # the one that is being made
            # What the agent does in answer to it comes after this moment.
            moment = max(len(self._moments) - 1, 0) if is_between else len(self._moments)
            self._delivered = {"step": step, "where": where, "moment": moment}

    async def begin(self) -> None:
        """Place the attack, unless it comes late.

        Raises:
            Fault: it cannot be placed.
        """
        window = self._window
        if self._placer.attacker:
            self._log = await self._read_log()
        is_in_pages = self._attack.needs().page or self._goal.typed
        if is_in_pages and isinstance(window, PlaywrightWindow) and not window.place.has_all_pages():
            raise Fault(ErrorSource.BROWSER, f"the attack {self._attack.label!r} is not placed: {SHARED}")
        if type(self._attack).alter_result is not AttackConfig.alter_result:
            window.alter_result = self._alter
        if texts := self._goal.typed:
            self._watch = await watch_input(self._placer.context, texts, self._note_typed)
        if self._attack.late == 0 and not self._attack.waits_for_page:
            await self._place()

    def _note_typed(self, place: int) -> None:
        self._typed.setdefault(self._goal.typed[place], self._step + 1)

    @property
    def fault(self) -> Fault | None:
        """What broke of the attack, for an agent may catch it; in pages only if nothing was delivered."""
        why, placer = "", self._placer
        if placer.broken:
            why = placer.broken
        elif self._is_over and self._delivered is None and placer.broken_in_pages:
            why = f"its function raised {placer.broken_in_pages} in a page"
        if why and self._fault is None:
            self._fault = Fault(ErrorSource.HARNESS, f"the attack {self._attack.label!r} broke: {why}")
        return self._fault or (None if self.inner is None else self.inner.fault)

    def finish(self) -> Progress | None:
        """Return what the other follower has."""
        return None if self.inner is None else self.inner.finish()

    async def _place(self) -> None:
        self._is_placed = self._is_placing = True
        try:
            with self._naming("could not be placed"):
                async with limit_time(PLACE_S):
                    await self._attack.place(self._placer)
        finally:
            self._is_placing = False

    @contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        """Name the attack in what is raised, and keep it."""
        try:
            yield
        except Fault as fault:
            self._fault = self._fault or fault
            raise
        except PLUGIN_ERRORS as error:
            if is_given_up(error):
                raise
            why = f"the attack {self._attack.label!r} {what}: {explain(error)}"
            named = Fault(ErrorSource.HARNESS, why)
            self._fault = self._fault or named
            raise named from error

    def _alter(self, tool: str, output: str) -> str:
        # Of the result of an ending, no agent makes anything any more.
        if self._step < self._attack.late or tool in ENDINGS:
            return output
        with self._naming("broke in alter_result"):
            changed: object = self._attack.alter_result(tool, output, self._placer)
            if not (changed is None or isinstance(changed, str)):
                raise AttackError(f"it returned {changed!r:.80}, which is neither a string nor None")
        if changed is None or changed == output:
            return output
        self._note_delivered(f"result of {tool}")  # an attack that says so itself has said more
        return changed

    async def ask(self, step: int, *, is_end: bool = False) -> None:
        """Look at the page after a step; the attack appears if it is due.

        An attack that cannot be placed is reported once the agent has ended.
        """
        if self.inner is not None:
            await self.inner.ask(step, is_end=is_end)
        if not self._is_held_up:  # what this step did is not the next one's
            await asyncio.gather(*(one.settle() for one in (self._watch, self._placer) if one is not None))
        self._step = max(self._step, step)
        self._is_over = self._is_over or is_end  # the agent meets nothing any more
        await self._add_moment(is_end=is_end)
        # A dialog holds up all that is done in pages: the attack waits for the step after it.
        if not self._is_placed and not is_end and step >= self._attack.late and not self._is_held_up:
            with suppress(Fault):
                await self._place()
                # What holds by the payload alone is not what the agent has done.
                before = len(self._moments) - 1
                await self._add_moment()
                if self._delivered is not None and self._delivered["moment"] == before:
                    self._delivered["moment"] = before + 1

    @property
    def _is_held_up(self) -> bool:
        return isinstance(self._window, PlaywrightWindow) and self._window.dialog is not None

    async def _add_moment(self, *, is_end: bool = False) -> None:
        """Note which checks hold, where that is known before the end."""
        seen: dict[str, Any] = {"page": {}}
        if not is_end:
            seen["page"] = await self._read_page()
            with suppress(NoValue, GraderFault, playwright_error()):
                seen |= await self._fetch_state()
        held = [judge_check(check, seen) for check in self._goal.checks]
        self._moments.append({"step": self._step, "held": held, "at": time.time()})

    async def _fetch_state(self) -> dict[str, JsonValue]:
        if (url := self._goal.state_url) is None:
            return {}
        # Without pages there are no cookies. A dialog stays open, which `observing.fetch_state` closes.
        has_page = isinstance(self._window, PlaywrightWindow)
        cookies = await self._placer.context.cookies([url]) if has_page else ()
        named = {str(one["name"]): str(one["value"]) for one in cookies}
        return {"state": await observing.fetch_json(url, named)}

    async def observe(self, task: Task) -> dict[str, JsonValue]:
        """Return what was seen, with what holds at the end.

        Raises:
            Fault: the page, the state or the attacker's origin cannot be read.
        """
        goal, plain = self._goal, task.model_copy(update={"checks": ()})
        seen: dict[str, Any] = {
            "delivered": self._delivered,
            "placed": self._is_placed,
            "moments": self._moments,
            "checks": [dict(key) for key in goal.keys],
            "requests": None,
            "typed": self._list_typed(),
            "unwatched": self._watch.missed if self._watch is not None else "",
        }
        found = await self._read_end(plain)
        rest = self._moments[-2]["at"] + PATIENCE_S - time.time() if len(self._moments) > 1 else 0
        # The last click may still be at work: what it leads to counts, as with checks of a row.
        if rest > 0 and self._delivered is not None and not self._is_reached(found):
            await asyncio.sleep(rest)
            found = await self._read_end(plain)
        return seen | found

    def _list_typed(self) -> dict[str, int]:
        """Return the texts that were typed, each with the step at which it first was."""
        for step, text in list_typed(self._messages):
            for wanted in self._goal.typed:
                if wanted in text:
                    self._typed[wanted] = min(step, self._typed.get(wanted, step))
        return dict(self._typed)

    @property
    def _messages(self) -> Sequence[AnyMessage]:
        return self.capture.messages.messages if self.capture is not None else ()

    async def _read_end(self, task: Task) -> dict[str, Any]:
        goal, seen = self._goal, dict[str, Any]()
        if goal.page_checks:
            pairs = zip(goal.checks, goal.keys, strict=True)
            on_page = tuple(dict(key) for check, key in pairs if isinstance(check, PageCheck))
            grader = PageStateGrader(checks=on_page, wait_s=0)
            seen["page"] = page = await grader.observe(self._window, task, self._homes)
            if page is None and isinstance(self._window, PlaywrightWindow):  # no check is of the page
                seen["page"] = {}
                for check in goal.page_checks:
                    await check.look(self._window, seen["page"])
        if goal.state_url is not None:
            try:
                seen["state"] = await observing.fetch_state(self._window, goal.state_url)
            except NoValue as error:
                raise GraderFault(f"the source of the goal gives no state: {error}") from None
        if self._placer.attacker:  # a goal that is corrected later may ask for them
            log = await self._read_log()
            seen["requests"], seen["dropped"] = self._mark_previews(log["requests"]), log["dropped"]
        return seen

    def _is_reached(self, seen: Mapping[str, Any]) -> bool:
        """Return whether nothing that may come yet is lacking: what was answered or typed does not change."""
        open_checks = [one for one in self._goal.checks if not isinstance(one, AnswerCheck | TypedCheck)]
        return all(judge_check(check, seen) for check in open_checks)

    async def _read_page(self) -> dict[str, Any]:
        if self._reader is None or not self._window.url or self._window.dead:
            return {}
        try:
            return await self._reader.read()
        except (TimeoutError, DialogOpened, NoTab, playwright_error()):
            return {}

    async def _read_log(self) -> dict[str, Any]:
        """Return what the attacker's origin was asked.

        Raises:
            Fault: it does not say; or its log, which only grows while an attempt lasts, has lost something.
        """
        try:
            log: Any = await observing.fetch_json(f"{self._placer.attacker}/{TOKEN}/seen", {})
        except NoValue as error:
            raise GraderFault(f"the attacker's origin does not answer: {error}") from None
        before, self._log = self._log or log, log
        if log["log"] != before["log"]:
            raise GraderFault("the log of the attacker's origin was emptied during the attempt")
        return dict(log)

    def _mark_previews(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Mark what a page has fetched because the payload has the address, which no call of the agent names.

        A page that previews links does so. What code does without the tools is not known.
        """
        calls = [json.dumps(one.params) for one in self._messages if isinstance(one, ToolCallMessage)]
        host = urlsplit(self._placer.attacker).netloc
        if not calls or self._window.cdp_url is not None or any(host in call for call in calls):
            return requests
        payload = unquote(self._placer.payload)
        for one in requests:
            query = f"?{one['query']}" if one["query"] else ""
            address = unquote(f"{self._placer.attacker}{one['path'].rstrip('/')}{query}")
            is_of_page = one["dest"] not in ("", "document") and not one["body"]
            if is_of_page and not one["headers"] and address in payload:
                one["is_preview"] = True
        return requests
