"""Notes where an attempt ends on a known wall, so that it does not fail for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.model.tasks import Task


def pytest_browsereval_watch_agent(
    window: Window, task: Task, eval_config: EvalConfig, site_urls: Mapping[str, str]
) -> AbstractAsyncContextManager[object] | None:
    """Look at the page on which the agent ends, if it has one."""
    if not eval_config.browser.has_page:
        return None
    sites = [url for url in (task.start_url, *site_urls.values()) if url]
    return _look_at_end(window, sites, eval_config)


@asynccontextmanager
async def _look_at_end(window: Window, sites: list[str], config: EvalConfig) -> AsyncIterator[None]:
    yield
    from pytest_browsereval.features.walls.walls import note_wall

    await note_wall(window, sites, config.walls)
