from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_browsereval.capture.screenshots import ScreenshotCapture
from tests.support import StillWindow


def test_a_picture_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """The disk's error is passed on, and the number is free for the next picture."""
    shots = ScreenshotCapture(StillWindow(), tmp_path)
    shots.path(1).mkdir(parents=True)
    with pytest.raises(OSError, match=r"001\.jpeg"):
        asyncio.run(shots.capture())
    assert shots.count == 0
    shots.path(1).rmdir()
    assert asyncio.run(shots.capture()) == 1
