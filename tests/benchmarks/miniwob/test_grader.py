"""The reward that a MiniWoB page gives itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.benchmarks.miniwob.grader import MiniwobGrader
from pytest_browsereval.errors import Fault
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import Live, Site, make_recorded, make_task

PAGE = """<!doctype html><div id="query">Click it.</div><script>
var WOB_DONE_GLOBAL = %s, WOB_RAW_REWARD_GLOBAL = %s, WOB_REWARD_REASON = 'half', WOB_REWARD_GLOBAL = 0.01;
</script>"""


def grade(*, done: bool = True, reward: float, **options: Any) -> GraderResult:
    episode = {"done": done, "reward": reward, "reason": None, "query": "Click."}
    grader = MiniwobGrader(**options)
    seen = {grader.label: {"url": "http://127.0.0.1:1/", "episode": episode}}
    return asyncio.run(grader.grade(make_recorded(make_task(), evidence=seen)))


@pytest.mark.parametrize(
    ("reward", "passes", "score"),
    [(1, (True, True), 1.0), (0.5, (True, False), 0.5), (0, (False, False), 0.0), (-1, (False, False), 0.0)],
)
def test_the_two_published_rules(reward: float, passes: tuple[bool, bool], score: float) -> None:
    """BrowserGym takes any reward above 0, Farama a full one; the rule is in the fingerprint."""
    loose, strict = grade(reward=reward), grade(reward=reward, min_reward=1)
    assert tuple(result.verdict is Verdict.PASSED for result in (loose, strict)) == passes
    assert loose.score == strict.score == score
    assert loose.fingerprint != strict.fingerprint
    assert (loose.details["min_reward"], strict.details["min_reward"]) == (None, 1)


def test_an_episode_that_is_not_over_fails() -> None:
    """Whatever its reward says so far."""
    result = grade(done=False, reward=1)
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)
    assert result.reasoning == "the episode was not finished"


def test_the_page_is_read(live: Live, site: Site) -> None:
    """The raw reward, before the page takes something off for time; a page without one was left."""
    site.pages["/half"], site.pages["/other"] = PAGE % ("true", "0.5"), "nothing here"
    task, grader = make_task(), MiniwobGrader()
    seen = live.run(f"{site.url}/half", lambda window: grader.observe(window, task, {}))
    episode = {"done": True, "reward": 0.5, "reason": "half", "query": "Click it."}
    assert seen == {"url": f"{site.url}/half", "episode": episode}
    result = live.runner.run(grader.grade(make_recorded(task, evidence={"miniwob": seen})))
    assert result.reasoning == "the page gave 0.5: half; more than 0 passes"
    site.pages["/half"] = (PAGE % ("true", "0.5")).replace("'half'", "undefined")  # as many pages have it
    seen = live.run(f"{site.url}/half", lambda window: grader.observe(window, task, {}))
    result = live.runner.run(grader.grade(make_recorded(task, evidence={"miniwob": seen})))
    assert result.reasoning == "the page gave 0.5; more than 0 passes"
    left = live.run(f"{site.url}/other", lambda window: grader.observe(window, task, {}))
    result = live.runner.run(grader.grade(make_recorded(task, evidence={"miniwob": left})))
    assert (result.verdict, result.reasoning) == (Verdict.FAILED, "the agent has left the page")


def test_a_reward_that_is_no_number_or_was_not_read_is_a_fault() -> None:
    """It is not 0."""
    rewards: list[Any] = [None, "much", True, {}]
    for reward in rewards:
        with pytest.raises(Fault, match="which is not a number"):
            grade(reward=reward)
    with pytest.raises(Fault, match="was not read"):
        asyncio.run(MiniwobGrader().grade(make_recorded(make_task())))
