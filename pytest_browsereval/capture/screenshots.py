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

    async def capture(self) -> int:
        """Take a picture and return its number, from 1.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
            OSError: the file could not be written.
        """
        data = await self._take()
        # Not before: an attempt without pictures has no folder for them.
        if not self.count:
            self._folder.mkdir(exist_ok=True)
        write_new(self.path(self.count + 1), data)
        self.count += 1
        return self.count

    async def capture_start(self) -> None:
        """Take the picture before the first step: number 0, as graders count and judge those of steps.

        Raises:
            Fault: as ``capture`` does.
            OSError: the same.
        """
        data = await self._take()
        self._folder.mkdir(exist_ok=True)
        write_new(self.path(0), data)

    async def _take(self) -> bytes:
        return await self._window.screenshot(self._picture, self._quality)


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
