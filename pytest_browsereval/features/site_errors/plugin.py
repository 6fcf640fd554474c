"""Warns of requests that a site of the run answered with a server error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.model.tasks import Task


def pytest_browsereval_prepare_window(
    task: Task, eval_config: EvalConfig, site_urls: Mapping[str, str]
) -> Callable[[Window], Awaitable[object]] | None:
    """Listen from the beginning, where the run says which sites are its own."""
    if not eval_config.browser.has_page:
        return None
    from pytest_browsereval.features.site_errors.errors import listen

    async def prepare(window: Window) -> None:
        await listen(window, [url for url in (task.start_url, *site_urls.values()) if url])

    return prepare


@pytest.hookimpl(wrapper=True)
def pytest_browsereval_follow_attempt(capture: CaptureContext) -> Generator[None, Any, Any]:
    """Give the listener the attempt that is warned of; another plug-in follows."""
    from pytest_browsereval.features.site_errors.errors import LISTENERS

    if listener := LISTENERS.get(capture.window):
        listener.warn_in(capture)
    return (yield)
