"""Follows an attempt: asks its checks after every step, and writes the curve once the agent has ended."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource, Fault, describe_error
from pytest_browsereval.features.progress.checks import NOT_OF_A_PAGE, PageQuestion, list_questions
from pytest_browsereval.features.progress.summary import NO_PAGE, SLOW, SLOW_S, sum_up
from pytest_browsereval.features.shared.page_reader import LIMIT_S, PageReader
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.expression import limit_evaluations
from pytest_browsereval.model.progress import PROGRESS_FILE, Followed, FollowedCheck, Moment, Progress
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run_files import write_whole

MOST_PASSED_OVER = 15
"""Steps that are passed over after a slow answer: 1, then 3, 7 and so many, until an answer comes quickly."""

VALUE_LENGTH = 40
"""Characters of a value that is shown; longer ones tell nothing at a glance."""


def make_follower(
    capture: CaptureContext, task: Task, graders: Sequence[GraderConfig]
) -> CheckFollower | None:
    """Return what follows an attempt; None where a page can answer nothing that its row asks.

    Args:
        capture: of the attempt.
        task: the row, its placeholders filled in.
        graders: of the row, filled in as well.
    """
    try:
        questions, left_out = list_questions(task, graders, capture.config.redact)
    except ValueError as error:  # a plug-in has changed the row; its graders say so too
        capture.add_warning(ErrorSource.HARNESS, f"checks are not evaluated during the attempt: {error}")
        return None
    if not questions or not isinstance(capture.window, PlaywrightWindow):
        return None
    return CheckFollower(capture, capture.window, task, questions, left_out)


class CheckFollower:
    """Asks the page of an attempt. What fails here is a note of the curve, and never the attempt's.

    The curve stays in memory until the agent has ended: the agent can read the attempt's folder.
    """

    fault: Fault | None = None

    def __init__(
        self,
        capture: CaptureContext,
        window: PlaywrightWindow,
        task: Task,
        questions: Sequence[PageQuestion],
        left_out: Sequence[FollowedCheck],
    ) -> None:
        self._capture = capture
        self._window = window
        self._tells_values = not task.protected
        self._questions = questions
        self._left_out = left_out
        homes = [task.start_url] if task.start_url else []
        self._reader = PageReader(window, [one.check for one in questions], homes)
        self._pause = self._left = 0
        """Steps to pass over after the last answer, and how many of them are left."""
        self._moments: list[Moment] = []
        self._judged: dict[int, tuple[str, bool | None]] = {}
        """What each check has found last, and whether it held: most find the same again."""
        self._values: dict[int, str] = {}
        self._is_told = False

    async def ask(self, step: int, *, is_end: bool = False) -> None:
        """Ask the page as it is now."""
        if not is_end and self._left:
            self._left -= 1
            self._moments.append(Moment(step=step, note=SLOW))
            return
        started = time.perf_counter()
        held: tuple[bool | None, ...] = ()
        found: dict[int, str] = {}
        note = self._find_obstacle()
        try:
            if not note:
                seen = await self._reader.read()
                held, found = await self._judge(seen)
        except TimeoutError:
            note = f"the page did not answer within {LIMIT_S:g} s"
        except DialogOpened:
            note = "a dialog opened"
        except (NoTab, playwright_error()):
            note = "the page went away"
        except Exception as error:  # noqa: BLE001 ours, and no reason to spoil an attempt
            note = "it could not be read"
            self._tell(error)
        is_slow = time.perf_counter() - started >= SLOW_S
        self._pause = self._left = min(2 * self._pause + 1, MOST_PASSED_OVER) if is_slow else 0
        self._moments.append(Moment(step=step, held=held, found=found, note=note, is_end=is_end))

    def _find_obstacle(self) -> str:
        """Return why the page cannot be asked now; "" if it can."""
        if self._window.dead:
            return "the window was gone"
        if not self._window.url:
            return NO_PAGE
        return "a dialog was open" if self._window.dialog is not None else ""

    def _tell(self, error: Exception) -> None:
        if not self._is_told:
            self._is_told = True
            text = f"checks could not be evaluated during the attempt: {describe_error(error)}"
            self._capture.add_warning(ErrorSource.HARNESS, text)

    # -- what the answers mean

    async def _judge(self, seen: dict[str, Any]) -> tuple[tuple[bool | None, ...], dict[int, str]]:
        # Only patterns and paths can take long; a thread for each moment would cost more than the rest.
        if any(one.check.is_slow for one in self._questions):
            return await asyncio.to_thread(self._judge_all, seen)
        return self._judge_all(seen)

    def _judge_all(self, seen: dict[str, Any]) -> tuple[tuple[bool | None, ...], dict[int, str]]:
        held: list[bool | None] = []
        found: dict[int, str] = {}
        with limit_evaluations(LIMIT_S):
            for place, question in enumerate(self._questions):
                value, holds = self._judge_one(place, question, seen)
                held.append(holds)
                if value is not None and self._values.get(place) != value and self._tells_values:
                    self._values[place] = value
                    found[place] = self._capture.config.redact(value)
        return tuple(held), found

    def _judge_one(
        self, place: int, question: PageQuestion, seen: dict[str, Any]
    ) -> tuple[str | None, bool | None]:
        """Return the value of a check and whether it holds; None if that is not known.

        The value is JSON, "" where it is too long to be shown.
        """
        check = question.check
        try:
            actual, problem = check.find_value(seen)
        except Fault:
            return None, None
        text = json.dumps(actual, ensure_ascii=False)
        value = None if check.kind == "text" else text if len(text) <= VALUE_LENGTH else ""
        before = self._judged.get(place)
        if before is not None and before[0] == problem + text:
            return value, before[1]
        try:
            holds: bool | None = not (problem or check.comparator.problem(actual, question.reading))
        except Fault:  # a pattern that takes too long
            holds = None
        if check.kind == "text" and not holds and seen["text"].get("cut"):
            holds = None
        if check.is_not and not problem and holds is not None:
            holds = not holds
        self._judged[place] = (problem + text, holds)
        return value, holds

    # -- the end

    def finish(self) -> Progress | None:
        """Write ``progress.jsonl`` and return the figures."""
        try:
            followed = self._gather()
            if not followed.moments:
                return None
            write_whole(self._capture.config.folder / PROGRESS_FILE, followed.as_lines())
            asked = followed.checks[: len(self._questions)]
            others = [one for one in self._left_out if one.left_out != NOT_OF_A_PAGE]
            return sum_up(asked, followed.moments, len(others))
        except Exception as error:  # noqa: BLE001 a full disk, say
            self._tell(error)
            return None

    def _gather(self) -> Followed:
        """Return the curve; a check that turned out not to be askable has no answer, and says why."""
        asked = [FollowedCheck(name=one.name, is_milestone=one.is_milestone) for one in self._questions]
        moments = sorted(self._moments, key=lambda one: (one.is_end, one.step))  # parallel calls
        refused = [
            check.model_copy(update={"left_out": self._reader.refused[question.check.subject]})
            for place, (check, question) in enumerate(zip(asked, self._questions, strict=True))
            if question.check.kind == "js" and question.check.subject in self._reader.refused
            # What was answered before it was refused stays.
            if all(not one.held or one.held[place] is None for one in moments)
        ]
        return Followed(checks=(*asked, *refused, *self._left_out), moments=tuple(moments))
