"""``state_diff``: what must hold of the state that the agent left in the application."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.comparators import Comparator, Reading, read_comparator, read_weight
from pytest_browsereval.graders.criteria import compute_share, summarize
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.graders.values import compile_path, look_up, show
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ChecksRead, Needs

# What a sum of weights may be off by.
_ROUNDING = 1e-9


class StateSource(BaseModel):
    """Where the state is read, once the agent has stopped; exactly one of these."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    js: str | None = Field(default=None, min_length=1)
    """An expression in the final page."""
    storage: str | None = None
    """``local:KEY`` or ``session:KEY``; an absent key is the state null."""
    url: str | None = Field(default=None, min_length=1)
    """An address that answers with JSON, asked with the window's cookies: ``{shop}/api/state``. A browser
    behind an MCP server does not show its cookies; the request then has none."""

    @model_validator(mode="after")
    def _exactly_one(self) -> StateSource:
        given = [key for key in ("js", "storage", "url") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                f"the source has {len(given)} of the keys js, storage, url. Write exactly one, such as "
                '{"storage": "local:cart"}'
            )
        if self.storage is not None:
            observing.check_place(self.storage)
        return self


@dataclass(frozen=True)
class StateCheck:
    """One check of the state, read from a row."""

    path: str
    comparator: Comparator
    weight: float

    def judge(self, state: JsonValue, reading: Reading, broken: str = "") -> Criterion:
        """Return the criterion; blocks for a slow ``regex``. ``broken``: why there is no state."""
        actual, problem = (None, broken) if broken else look_up(self.path, state)
        criterion = self.comparator.criterion(self.path, actual, reading, weight=self.weight)
        if problem:
            return criterion.model_copy(update={"verdict": Verdict.FAILED, "reason": problem})
        return criterion


def read_state_check(check: Mapping[str, JsonValue]) -> StateCheck:
    """Return a check of the state as a row has it.

    Raises:
        ValueError: it is not well formed; the message says what to write.
    """
    path = check.get("path")
    if not isinstance(path, str) or not path.strip():
        raise ValueError(
            f"the check {show(dict(check))} has the path {show(path)}; write a JMESPath expression, such "
            'as {"path": "cart.items[0].name", "equals": "Blue mug"}.'
        )
    compile_path(path)
    return StateCheck(path, read_comparator(check, others=("path", "weight")), read_weight(check))


class StateDiffGrader(GraderConfig):
    """Compares the application's state with what a row expects, check by check, with partial credit."""

    type: Literal["state_diff"] = "state_diff"
    reads: ClassVar[ChecksRead] = ChecksRead(lacking=observing.PAGE_KEYS)

    source: StateSource
    """Where the state is."""
    checks: tuple[dict[str, JsonValue], ...] = ()
    """Further checks, for every row; those of a row are its ``checks`` with a ``path``."""
    mode: Reading = "strict"
    """Which reading decides; the score of the other one is reported next to it."""
    pass_at: float = Field(default=1.0, gt=0, le=1)
    """The weighted share of checks that has to hold."""
    wait_s: float = Field(default=1.0, ge=0, le=10)
    """How long to look again while checks do not hold: the last click may still take effect."""

    def _checks(self, task: Task) -> list[StateCheck]:
        own = [check for check in task.checks if self.reads.include(check)]
        return [read_state_check(check) for check in (*self.checks, *own)]

    def needs(self, task: Task) -> Needs:
        """The page, unless the state is fetched from an address; its source decides what is observed."""
        url = self.source.url
        return Needs(
            page=url is None,
            addresses=() if url is None else (url,),
            observes=self.source.model_dump(exclude_none=True),
        )

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that there are checks of the state, each well formed.

        Raises:
            ValueError: with what to write.
        """
        if not self._checks(task):
            raise ValueError(
                f"the grader {self.label!r} has nothing to check. Give the row checks, such as "
                '"checks": [{"path": "orders[0].total", "number": 59.98}], or leave the grader out.'
            )

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the state.

        Raises:
            Fault: it cannot be read.
        """
        checks = self._checks(task)
        homes = [url for url in (task.start_url, *site_urls.values()) if url]

        async def look() -> dict[str, JsonValue]:
            source = self.source
            try:
                if source.url is not None:
                    return {"state": await observing.fetch_state(window, source.url)}
                async with observing.live_page(window) as page:
                    if source.js is not None:
                        return {"state": await page.value(source.js)}
                    stored = await page.read_storage(source.storage or "", homes)
                    return {"state": observing.parse_stored(stored)}
            except NoValue as error:
                if source.url is None and (broken := observing.describe_broken(window)):
                    return {"state": None, "broken": broken}
                place = show(source.model_dump(exclude_none=True))
                raise GraderFault(f"the source {place} gives no state: {error}") from None

        def is_final(seen: dict[str, JsonValue]) -> bool:
            return all(c.judge(seen["state"], self.mode).verdict is Verdict.PASSED for c in checks)

        return await observing.wait_until_final(look, is_final, self.wait_s)

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare the state that was read with the checks.

        Raises:
            Fault: no state was read, or a pattern takes too long.
        """
        state, checks = recorded.get_evidence(self.label, "state", "the state"), self._checks(recorded.task)
        seen: Any = recorded.evidence[self.label]

        def judge_all(mode: Reading) -> list[Criterion]:
            return [check.judge(state, mode, seen.get("broken", "")) for check in checks]

        strict, lenient = await asyncio.to_thread(lambda: (judge_all("strict"), judge_all("lenient")))
        criteria = strict if self.mode == "strict" else lenient
        score = compute_share(criteria)
        return GraderResult(
            grader=self.label,
            verdict=Verdict.PASSED if score >= self.pass_at - _ROUNDING else Verdict.FAILED,
            score=score,
            reasoning=summarize(criteria, f" ({self.mode} mode)"),
            criteria=tuple(criteria),
            evidence=("evidence.json",),
            details={
                "mode": self.mode,
                "strict_score": compute_share(strict),
                "lenient_score": compute_share(lenient),
                "pass_at": self.pass_at,
            },
            fingerprint=self.fingerprint(5, recorded.site_urls),
        )
