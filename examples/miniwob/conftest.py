"""The grader of this example: the reward that a MiniWoB page gives itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue

from pytest_browsereval import GraderConfig, GraderResult, Recorded, Registry, Task, Verdict

EPISODE = """() => typeof WOB_DONE_GLOBAL === "undefined" ? null
  : {done: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON}"""


class MiniwobGrader(GraderConfig):
    """Reads the raw reward: the one before the page takes something off for the time used."""

    type: Literal["miniwob"] = "miniwob"
    pass_at: float = Field(default=1.0, gt=0, le=1)
    """The reward to pass with; some pages give a part of it for a part of the work."""

    async def observe(self, window: Any, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the state of the episode; None where the agent has left the page."""
        del task, site_urls
        episode: JsonValue = await window.page.evaluate(EPISODE)
        return episode

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Judge what was read."""
        episode: Any = recorded.evidence.get(self.label) or {"done": False}
        if not episode["done"]:
            return self._result(0.0, "the episode was not finished")
        reward = float(episode["reward"])
        return self._result(reward, f"the page gave {reward:g}; {self.pass_at:g} passes")

    def _result(self, reward: float, why: str) -> GraderResult:
        is_passed = reward >= self.pass_at - 1e-9
        return GraderResult(
            grader=self.label,
            verdict=Verdict.PASSED if is_passed else Verdict.FAILED,
            score=min(max(reward, 0.0), 1.0),
            reasoning=why,
            fingerprint=self.fingerprint(1),
        )


def pytest_browsereval_register(registry: Registry) -> None:
    """Hand the grader over."""
    registry.register(MiniwobGrader)
