"""Downloads of each attempt are kept, and its pages are watched for choosers of files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.config import EvalConfig


def pytest_browsereval_prepare_window(
    eval_config: EvalConfig, folder: Path, redact: Callable[[str], str]
) -> Callable[[Window], Awaitable[object]] | None:
    """Return what prepares a window that tools of ours act on."""
    if not eval_config.browser.has_page:
        return None
    from pytest_browsereval.features.files.choosers import watch_choosers
    from pytest_browsereval.features.files.downloads import Keeper

    async def prepare(window: Window) -> None:
        Keeper(folder, eval_config.capture.downloads, redact).keep_all(window)
        await watch_choosers(window)

    return prepare
