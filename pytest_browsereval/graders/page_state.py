"""``page_state``: what must hold on the page where the agent stopped, and on the way there."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import cap_text
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.comparators import Reading
from pytest_browsereval.graders.criteria import compute_share, list_failed, summarize
from pytest_browsereval.graders.observing import PAGE_KEYS, LivePage
from pytest_browsereval.graders.page_checks import PAGE_CHECKS, PageCheck, judge, read_page_check
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ChecksRead, Needs


class PageStateGrader(GraderConfig):
    """Checks the page where the agent stopped: address, title, text, roles, values, storage."""

    type: Literal["page_state"] = "page_state"
    reads: ClassVar[ChecksRead] = ChecksRead(having=PAGE_KEYS, lacking=("path",))

    checks: tuple[dict[str, JsonValue], ...] = ()
    """Further checks, for every row; those of a row are its ``checks``."""
    mode: Reading = "strict"
    """How values are compared: ``lenient`` forgives case, blanks and numbers written as text."""
    wait_s: float = Field(default=1.0, ge=0, le=10)
    """How long to look again while checks do not hold: the last click may still take effect."""

    def _checks(self, task: Task) -> list[PageCheck]:
        own = [check for check in task.checks if self.reads.include(check)]
        return [read_page_check(check) for check in (*self.checks, *own)]

    def needs(self, task: Task) -> Needs:
        """The page, if a check is about it; the evidence says for each check whether it was observed."""
        try:
            needs_page = any(check.of_page for check in self._checks(task))
        except ValueError:  # `check` says what is wrong with them
            needs_page = True
        return Needs(page=needs_page, observes=None)

    def check_tools(self, task: Task, names: Mapping[str, Collection[str]], *, has_others: bool) -> None:
        """Check that the tools exist that checks name.

        Raises:
            ValueError: with what to write.
        """
        for check in self._checks(task):
            check.check_tools(names, has_others=has_others)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that there are checks of the page, each well formed.

        Raises:
            ValueError: with what to write.
        """
        if not self._checks(task):
            raise ValueError(
                f"the grader {self.label!r} has nothing to check. Give the row checks, such as "
                '"checks": [{"role": "heading", "name": "Thank you"}], or leave the grader out.'
            )

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read from the final page what the checks are about.

        Raises:
            Fault: the page cannot be read.
        """
        checks = self._checks(task)
        if not any(check.of_page for check in checks):
            return None
        homes = [url for url in (task.start_url, *site_urls.values()) if url]

        async def look() -> dict[str, JsonValue]:
            async with observing.live_page(window) as page:
                seen = await _read_page(page, checks, homes)
            assert isinstance(window, PlaywrightWindow)  # noqa: S101 it has a live page
            seen |= {"broken": broken} if (broken := observing.describe_broken(window)) else {}
            for check in (one for one in checks if one.kind not in PAGE_CHECKS):
                await observing.read_in_time(window, check.title, check.look(window, seen))
            return seen

        def is_final(seen: dict[str, JsonValue]) -> bool:
            return all(judge(check, seen, self.mode).verdict is Verdict.PASSED for check in checks)

        return await observing.wait_until_final(look, is_final, self.wait_s)

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare what was seen with the checks.

        Raises:
            Fault: a check cannot be decided from what was seen.
        """
        checks, found = self._checks(recorded.task), recorded.evidence.get(self.label)
        if not isinstance(found, dict) and any(check.of_page for check in checks):
            raise GraderFault("the final page was not observed; run the task again")
        seen: dict[str, Any] = {**found} if isinstance(found, dict) else {}

        def judge_all() -> list[Criterion]:
            for check in checks:
                check.look_at_files(recorded, seen)
            found = [judge(check, seen, self.mode) for check in checks]
            if not (broken := seen.get("broken")):
                return found
            # That an agent got to an address says nothing of what the site did there.
            moot = {"verdict": Verdict.FAILED, "reason": broken}
            pairs = zip(checks, found, strict=True)
            return [one.model_copy(update=moot) if check.kind == "url" else one for check, one in pairs]

        criteria = await asyncio.to_thread(judge_all)
        return GraderResult(
            grader=self.label,
            verdict=Verdict.FAILED if list_failed(criteria) else Verdict.PASSED,
            score=compute_share(criteria),
            reasoning=summarize(criteria),
            criteria=tuple(criteria),
            evidence=("evidence.json",),
            details={name: cap_text(str(seen[name])) if name in seen else None for name in ("url", "title")}
            | {"mode": self.mode},
            fingerprint=self.fingerprint(5, recorded.site_urls),
        )


async def _read_page(page: LivePage, checks: list[PageCheck], homes: list[str]) -> dict[str, JsonValue]:
    """Read everything that the checks are about, each thing once."""
    seen: dict[str, Any] = {
        "url": page.url,
        "title": await page.title(),
        "roles": {},
        "js": {},
        "storage": {},
    }
    for check in checks:
        if check.kind == "text" and "text" not in seen:
            seen["text"] = await page.text()
        elif check.kind == "role" and check.key not in seen["roles"]:
            seen["roles"][check.key] = await page.count_role(check.subject, check.name)
        elif check.kind in ("js", "storage") and check.subject not in seen[check.kind]:
            try:
                is_js, what = check.kind == "js", check.subject
                value = await (page.value(what) if is_js else page.read_storage(what, homes))
                seen[check.kind][what] = {"value": value}
            except NoValue as error:
                seen[check.kind][check.subject] = {"error": str(error)}
    return seen
