"""Checks that a person points at, judged on the page by the grader that will judge them in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.record.steps import Item
from pytest_browsereval.graders.page_checks import judge, read_page_check
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow


class Judge:
    """Judges checks on the current page of a window, and on its start page as it was.

    Args:
        window: at its start page.
    """

    def __init__(self, window: PlaywrightWindow) -> None:
        self._window = window
        self._start: Any = {}

    async def begin(self) -> None:
        """Read what the start page shows before anything is done."""
        self._start = await self._look([{"text": "any"}]) or {}

    @property
    def start_url(self) -> str:
        """The address of the start page, as the browser writes it."""
        return str(self._start.get("url", ""))

    def held_at_start(self, check: dict[str, JsonValue]) -> bool:
        """Return whether a check of a text or an address held before anything was done."""
        return bool(self._start) and ("text" in check or "url" in check) and _holds(check, self._start)

    async def find_unmet(self, items: Iterable[Item]) -> list[Item]:
        """Return the checks that do not hold on the current page."""
        items = list(items)
        seen = await self._look([item.content for item in items])
        return [item for item in items if seen is None or not _holds(item.content, seen)]

    async def _look(self, checks: list[dict[str, JsonValue]]) -> Any:
        task = Task(query_id="recorded", query="recorded", checks=tuple(checks))
        try:
            return await PageStateGrader(wait_s=0).observe(self._window, task, {})
        except (Fault, NoTab):
            return None


def _holds(check: dict[str, JsonValue], seen: Any) -> bool:
    try:
        return judge(read_page_check(check), seen, "strict").verdict is Verdict.PASSED
    except Fault:
        return False
