from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from PIL import Image

from pytest_browsereval.browsers.base import PictureFormat
from pytest_browsereval.capture.screenshots import ScreenshotCapture
from tests.support import StillWindow, Visits

FORMATS = {"jpeg": "JPEG", "png": "PNG", "webp": "WEBP"}


@pytest.mark.parametrize("picture", ["jpeg", "png", "webp"])
def test_suffix_and_content_agree(visit: Visits, tmp_path: Path, picture: PictureFormat) -> None:
    """A file's suffix is what its bytes are, whatever the format."""
    opened = visit("<h1>Hello")
    shots = ScreenshotCapture(opened.window, tmp_path, picture=picture)
    assert [opened.run(shots.capture()), opened.run(shots.capture())] == [1, 2]
    names = [f"001.{picture}", f"002.{picture}"]
    assert sorted(path.name for path in (tmp_path / "screenshots").iterdir()) == names
    for number in (1, 2):
        image = Image.open(io.BytesIO(shots.path(number).read_bytes()))
        assert (image.format, image.size) == (FORMATS[picture], (1280, 720))


def test_a_picture_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """The disk's error is passed on, and the number is free for the next picture."""
    shots = ScreenshotCapture(StillWindow(), tmp_path)
    shots.path(1).mkdir(parents=True)
    with pytest.raises(OSError, match=r"001\.jpeg"):
        asyncio.run(shots.capture())
    assert shots.count == 0
    shots.path(1).rmdir()
    assert asyncio.run(shots.capture()) == 1
