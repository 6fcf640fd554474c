"""Pictures of the window, numbered and written at once."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.browsers.base import PictureFormat, Window


class ScreenshotCapture:
    """Takes pictures into ``screenshots/001.jpeg``, ... Numbers have no gaps: a failed one takes none.

    Args:
        window: what to take pictures of.
        folder: the attempt's folder.
        picture: the format, which is also the files' suffix.
        quality: 0 to 100, for jpeg and webp.
    """

    def __init__(
        self, window: Window, folder: Path, *, picture: PictureFormat = "jpeg", quality: int = 80
    ) -> None:
        self._window = window
        self._folder = folder / "screenshots"
        self._picture: PictureFormat = picture
        self._quality = quality
        self.count = 0
        """How many pictures there are."""

    def path(self, number: int) -> Path:
        """Return the file of a picture."""
        return self._folder / f"{number:03d}.{self._picture}"

    async def capture(self, *, is_start: bool = False) -> int:
        """Take a picture and return its number, from 1; 0 is that before the first step.

        Graders count and judge the pictures of steps.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
            OSError: the file could not be written.
        """
        data = await self._window.screenshot(self._picture, self._quality)
        # Not before: an attempt without pictures has no folder for them.
        self._folder.mkdir(exist_ok=True)
        number = 0 if is_start else self.count + 1
        write_new(self.path(number), data)
        self.count = number
        return number


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet; nothing stays of one that cannot be written.

    Raises:
        OSError: a full disk, for example.
    """
    try:
        path.write_bytes(data)
    except OSError:
        if path.is_file():
            path.unlink()
        raise
