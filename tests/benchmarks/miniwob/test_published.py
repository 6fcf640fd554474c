"""MiniWoB's rewards as its pages and its package tell them, against ours (``-m published``)."""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.miniwob.dataset import MiniwobConfig
from pytest_browsereval.benchmarks.miniwob.grader import MiniwobGrader
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.sites.static import StaticSite
from tests.graders.support import Live, make_recorded
from tests.published import published
from tests.support import until

pytestmark = [pytest.mark.published, pytest.mark.timeout(900)]

POLICIES = Path(__file__).parents[3] / "examples" / "miniwob" / "policies.py"

OWN = """
import importlib.util, pathlib

def answer(episodes):
    # The package itself registers environments with gymnasium; only its rules for rewards are wanted.
    top = pathlib.Path(importlib.util.find_spec("miniwob").submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("reward", top / "reward.py")
    reward = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reward)
    return [[reward.get_raw_reward(one), reward.get_binary_reward(one)] for one in episodes]
"""

METADATA = "() => ({done: WOB_DONE_GLOBAL, env_reward: WOB_REWARD_GLOBAL, raw_reward: WOB_RAW_REWARD_GLOBAL})"
"""What the package's own instance reads of a page."""

ENDED = re.compile(r"reward: \S+ \(raw: (\S+)\)")
"""What a page logs when an episode ends."""

SEEN = "all was logged before this"

GIVEN = (-1, -0.25, 0, 0.01, 0.5, 0.99, 1)
"""Rewards with which pages end an episode, full, in part and none."""


class PageHands:
    """Hands of the example's policies, over plain Playwright."""

    def __init__(self, page: Any) -> None:
        self._page = page

    async def read(self, target: str) -> str:
        return str(await self._page.locator(target).first.inner_text())

    async def click(self, target: str) -> None:
        await self._page.locator(target).first.click()

    async def fill(self, target: str, text: str) -> None:
        await self._page.locator(target).first.fill(text)

    async def select(self, target: str, value: str) -> None:
        await self._page.locator(target).first.select_option(value)


def load_policies() -> Any:
    spec = spec_from_file_location("miniwob_policies", POLICIES)
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def episode(window: PlaywrightWindow, task: Task, policies: Any, way: int) -> dict[str, Any]:
    """Play an episode: solve it, leave it, or have the page end it with a reward of its own."""
    logged: list[str] = []
    window.page.on("console", lambda message: logged.append(message.text))
    await window.page.evaluate(f"() => {{ {task.setup_script} }}")
    if way == 1:
        await policies.play(task.tags[0], PageHands(window.page))
    elif way == 3:
        reward = GIVEN[sum(map(ord, task.query_id)) % len(GIVEN)]
        await window.page.evaluate(f"() => core.endEpisode({reward}, true)")
    await window.page.evaluate(f"() => console.log({SEEN!r})")
    await until(lambda: SEEN in logged)  # what the page logs comes by another way than what it returns
    return {
        "seen": await MiniwobGrader().observe(window, task, {}),
        "metadata": await window.page.evaluate(METADATA),
        "logged": [float(found[1]) for line in logged if (found := ENDED.fullmatch(line))],
    }


def verdicts(live: Live, task: Task, seen: Any) -> list[bool]:
    """Return whether an episode passes under both rules."""
    recorded = make_recorded(task, evidence={"miniwob": seen})
    graders = (MiniwobGrader(), MiniwobGrader(min_reward=1))
    return [live.runner.run(grader.grade(recorded)).verdict is Verdict.PASSED for grader in graders]


def test_the_same_rewards(live: Live) -> None:
    """Every page with a policy, three seeds each: our reading, the page's own log, the package's rules."""
    own, policies = published(alone=("miniwob==1.1.0",)), load_policies()
    html = own.packages / "miniwob" / "html"
    dataset = MiniwobConfig(path=html / "miniwob", pages=tuple(policies.POLICIES), seeds=(1, 2, 3))
    tasks = [dataset.read(ref) for ref in dataset.index(Path())]
    site, played = StaticSite(html), []
    live.runner.run(site.start())
    try:
        for task in tasks:
            url, way = str(task.start_url).replace("{miniwob}", site.url), int(task.query_id[-1])
            play = partial(episode, task=task, policies=policies, way=way)
            played.append(live.run(url, play))
    finally:
        live.runner.run(site.close())
    assert len(played) >= 75
    theirs = own.run(OWN, [each["metadata"] for each in played])
    for task, each, (raw, binary) in zip(tasks, played, theirs, strict=True):
        read, done = each["seen"]["episode"], each["metadata"]["done"]
        assert (read["done"], read["reward"]) == (done, each["metadata"]["raw_reward"]), task.query_id
        assert each["logged"] == ([read["reward"]] if done else []), task.query_id
        assert verdicts(live, task, each["seen"]) == [done and raw > 0, binary == 1.0], task.query_id
    by_way = {
        way: [e["metadata"] for t, e in zip(tasks, played, strict=True) if t.query_id[-1] == way]
        for way in "123"
    }
    assert all(one["raw_reward"] == 1 for one in by_way["1"])
    assert not any(one["done"] for one in by_way["2"])
    assert {one["raw_reward"] for one in by_way["3"]} == set(GIVEN)
