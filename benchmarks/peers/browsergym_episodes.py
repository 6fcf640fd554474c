"""Each row is an episode of BrowserGym: an environment, its observation after each action, its own reward.

    python browsergym_episodes.py ROWS FIRST [tuned]

Actions are Python code by selector, BrowserGym's cheapest kind: nothing has to find a numbered element.
Texts are read from its page, not searched for in the observation. The window is BrowserGym's own (332 x 214).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import playwright.sync_api
from playing import PageHands, launch_options, play, rows

TUNED: dict[str, Any] = {"slow_mo": 0, "pre_observation_delay": 0, "disable_env_checker": True}
"""What one who knows it turns: no waits, which these pages do not need, and no checks of Gymnasium's."""


class EpisodeHands(PageHands):
    """Hands that act through ``env.step``, so that BrowserGym observes after each action."""

    def __init__(self, env: Any, asked: str) -> None:
        super().__init__(env.unwrapped.page)
        self._env = env
        self._asked = asked
        self.reward = 0.0

    async def read(self, target: str) -> str:
        return self._asked if target == "#query" else await super().read(target)

    async def click(self, target: str) -> None:
        self._step(f"page.click({target!r})")

    async def fill(self, target: str, text: str) -> None:
        self._step(f"page.fill({target!r}, {text!r})")

    async def select(self, target: str, value: str) -> None:
        self._step(f"page.select_option({target!r}, {value!r})")

    def _step(self, code: str) -> None:
        observation, self.reward, _, _, _ = self._env.step(code)
        if error := observation["last_action_error"]:
            raise RuntimeError(f"{code}: {error}")


class TheSeed:
    """Stands where BrowserGym draws the page's seed from its own: the page is the row's."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def randint(self, low: int, high: int) -> int:
        """Return the seed."""
        del low, high
        return self._seed


def with_seed(entrypoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of tasks whose page has the seed as it is given."""

    def made(seed: int, **more: Any) -> Any:
        task = entrypoint(seed=seed, **more)
        task.random = TheSeed(seed)
        return task

    return made


def episode(row: dict[str, Any], settings: dict[str, Any]) -> float:
    """Play a row and return BrowserGym's reward."""
    page, _, seed = row["query_id"].rpartition("-")
    env: Any = gymnasium.make(f"browsergym/miniwob.{page}", action_mapping=None, **settings)
    env.unwrapped.task_entrypoint = with_seed(env.unwrapped.task_entrypoint)
    env.unwrapped.task_kwargs["base_url"] = row["start_url"].rpartition("/")[0] + "/"
    observation, _ = env.reset(seed=int(seed))
    hands = EpisodeHands(env, observation["goal"])
    play(page, hands)
    env.close()
    return hands.reward


def use_this_browser() -> None:
    """Have both browsers of BrowserGym, the page's and its chat's, be the one that all runners have."""
    launch = playwright.sync_api.BrowserType.launch
    ours = launch_options()

    def launched(self: playwright.sync_api.BrowserType, **given: Any) -> playwright.sync_api.Browser:
        args = [*(given.get("args") or ()), *ours["args"]]
        return launch(self, **{**given, **ours, "args": args})

    playwright.sync_api.BrowserType.launch = launched  # type: ignore[method-assign]


def main(file: str, first: int, settings: dict[str, Any]) -> None:
    """Play the first rows, one after another.

    Raises:
        SystemExit: some were not solved, so that their cost says nothing.
    """
    import browsergym.miniwob  # type: ignore[import-not-found] # noqa: F401 it registers the tasks

    logging.disable(logging.WARNING)  # it tells of every setting that is changed
    use_this_browser()
    work = rows(file, first)
    failed = [row["query_id"] for row in work if episode(row, settings) <= 0]
    if failed:
        raise SystemExit(f"not solved: {', '.join(failed)}")
    print(f"{len(work)} passed")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), TUNED if "tuned" in sys.argv[3:] else {})
