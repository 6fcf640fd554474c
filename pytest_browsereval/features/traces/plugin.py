"""Records the window of an attempt, if the config says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pytest_browsereval.capture.recording import WindowRecording
    from pytest_browsereval.config import EvalConfig


def pytest_browsereval_record_window(
    eval_config: EvalConfig, folder: Path, redact: Callable[[str], str]
) -> AbstractAsyncContextManager[WindowRecording] | None:
    """Record trace and console, if one of them is wanted."""
    trace, console = eval_config.capture.trace, eval_config.capture.console
    if trace == "off" and not console:
        return None
    from pytest_browsereval.features.traces.recording import Recording

    return Recording(folder, trace=trace, console=console, redact=redact)
