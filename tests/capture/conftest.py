"""What the tests of recordings share: windows without a browser, and recordings of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from tests.support import StillWindow, patience

__all__ = ["patience"]

Contexts = Callable[..., CaptureContext]


@pytest.fixture
def window() -> StillWindow:
    return StillWindow()


@pytest.fixture
def context(tmp_path: Path, window: StillWindow) -> Iterator[Contexts]:
    """Make recordings of the window with other options; all are closed in the end."""
    with ExitStack() as stack:

        def make(**options: Any) -> CaptureContext:
            config = CaptureContextConfig(tmp_path, **options)
            return stack.enter_context(closing(CaptureContext(config, window)))

        yield make
