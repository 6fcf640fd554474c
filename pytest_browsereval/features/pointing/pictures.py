"""Pictures for models that point at them: their size, made smaller if wanted, with the geometry of points."""

from __future__ import annotations

import asyncio
import io

from pytest_browsereval.browsers.picture_size import size_of
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.pointing.actions import Coordinates, Geometry
from pytest_browsereval.features.shared.tool_loop.loop import Eyes, Picture

SHRUNK_QUALITY = 85
"""Of pictures that are made smaller, for jpeg and webp."""


class Sight:
    """Shows a model the page: the recorded pictures where there are any, fresh ones otherwise.

    Args:
        capture: records the attempt; its window is looked at.
        coordinates: how the model points.
        width: what wider pictures are shrunk to; None leaves all as they are.
    """

    def __init__(
        self, capture: CaptureContext, coordinates: Coordinates = "normalized", width: int | None = None
    ) -> None:
        self._capture = capture
        self._coordinates: Coordinates = coordinates
        self._width = width
        self._eyes = Eyes(capture)
        self._size: tuple[int, int] | None = None

    @property
    def geometry(self) -> Geometry:
        """Where points of the newest picture are; before there is one, it is as large as the viewport.

        Raises:
            Fault: source *browser*; the browser does not tell its viewport.
        """
        viewport = self._capture.window.viewport
        if viewport is None:
            raise Fault(
                ErrorSource.BROWSER,
                "the browser does not give the size of its viewport, so points have no place",
            )
        return Geometry(viewport, self._size or viewport, self._coordinates)

    async def now(self) -> Picture | None:
        """Return the page as it is; None if it cannot be drawn, which is a warning then."""
        return await self._shown(await self._eyes.first())

    async def after_action(self) -> Picture | None:
        """Return the page after the last action; None if it cannot be drawn."""
        return await self._shown(await self._eyes.latest() or await self._eyes.first())

    async def _shown(self, picture: Picture | None) -> Picture | None:
        if picture is None:
            return None
        size = size_of(picture.data)
        if size is None:
            raise Fault(ErrorSource.SCREENSHOT, f"the size of a picture ({picture.media_type}) is unknown")
        # Geometry is that of the picture as it is sent: points of a model are on it.
        if self._width is not None and size[0] > self._width:
            size = self._width, max(1, round(size[1] * self._width / size[0]))
            picture = Picture(await asyncio.to_thread(shrunk, picture.data, size), picture.media_type)
        self._size = size
        return picture


def shrunk(data: bytes, size: tuple[int, int]) -> bytes:
    """Return the picture in another size and the same format."""
    from PIL import Image

    target = io.BytesIO()
    with Image.open(io.BytesIO(data)) as picture:
        smaller = picture.resize(size, Image.Resampling.LANCZOS)
        smaller.save(target, picture.format, quality=SHRUNK_QUALITY)
    return target.getvalue()
