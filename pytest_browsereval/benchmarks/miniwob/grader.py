"""``miniwob``: the reward that a page of MiniWoB++ gives itself, before it takes something off for time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.observing import live_page
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.known import beginning

_EPISODE = """typeof WOB_RAW_REWARD_GLOBAL === 'undefined' ? null : {
  done: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON ?? null,
  query: document.getElementById('query')?.innerText ?? null}"""


class MiniwobGrader(GraderConfig):
    """Reads the raw reward of the episode, from -1 to 1, and whether it is over.

    An episode that is not over fails, and so does one whose page the agent has left. The score is the reward,
    0 where it is negative.
    """

    type: Literal["miniwob"] = "miniwob"

    min_reward: float | None = Field(default=None, gt=0, le=1)
    """The reward to pass with. By default any above 0 passes, as BrowserGym scores; 1 is Farama's rule: no
    credit for a part of the work."""

    def needs(self, task: Task) -> Needs:
        """The page, which holds its reward and has one episode."""
        return Needs(page=True, observes=None)

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the state of the episode.

        Raises:
            Fault: the page cannot be read.
        """
        try:
            async with live_page(window) as page:
                return {"url": page.url, "episode": await page.value(_EPISODE)}
        except NoValue as error:
            raise GraderFault(f"the page's reward cannot be read: {error}") from None

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Judge what was read.

        Raises:
            Fault: nothing was, or what was read is not a number.
        """
        episode = recorded.get_evidence(self.label, "episode", "the page's reward")
        if episode is None:
            return self._result(None, "the agent has left the page", {})
        reward = episode["reward"]
        details = {"reward": reward, "is_done": episode["done"], "reason": episode["reason"]}
        if not episode["done"]:
            return self._result(None, "the episode was not finished", details)
        # The page's scripts are within the agent's reach.
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            raise GraderFault(f"the page's reward is {show(reward, 80)}, which is not a number")
        because = f": {beginning(str(episode['reason']), 200)}" if episode["reason"] else ""
        return self._result(reward, f"the page gave {reward:g}{because}; {self._rule} passes", details)

    def _result(self, reward: float | None, why: str, details: dict[str, JsonValue]) -> GraderResult:
        # BrowserGym and Farama disagree on partial rewards, so the cut is an option.
        is_passed = reward is not None and (
            reward > 0 if self.min_reward is None else reward >= self.min_reward
        )
        criterion = make_criterion("reward", "" if is_passed else why, expected=self._rule, actual=reward)
        return GraderResult(
            grader=self.label,
            verdict=criterion.verdict,
            score=min(max(reward or 0.0, 0.0), 1.0),
            reasoning=why,
            criteria=(criterion,),
            evidence=("evidence.json",),
            details={**details, "min_reward": self.min_reward},
            fingerprint=self.fingerprint(1),
        )

    @property
    def _rule(self) -> str:
        return "more than 0" if self.min_reward is None else f"{self.min_reward:g}"
