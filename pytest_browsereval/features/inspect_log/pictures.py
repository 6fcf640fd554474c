"""Pictures of a log of Inspect, as files."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.foreign_files import picture_suffix

_DATA = re.compile(r"data:image/[a-z0-9.+-]{1,40};base64,")


class Pictures:
    """Writes pictures into a folder, which is made with the first one.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[int, Path] = {}
        """By their numbers."""
        self.lost = 0
        """How many were none, or are elsewhere: nothing is fetched."""

    def add(self, image: object, number: object = None) -> int | None:
        """Write a picture and return its number; None if it is none.

        Args:
            image: its address, which has to hold the picture itself.
            number: its own one, if it has one.
        """
        found = _DATA.match(image) if isinstance(image, str) else None
        if found is None or not isinstance(image, str):
            self.lost += 1
            return None
        is_known = isinstance(number, int) and not isinstance(number, bool) and 0 < number < 1_000_000
        chosen = number if isinstance(number, int) and is_known else max(self.files, default=0) + 1
        if chosen in self.files:
            return chosen
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / str(chosen)
        try:
            path.write_bytes(base64.b64decode(image[found.end() :], validate=True))
            picture_suffix(path)
        except (binascii.Error, ValueError, UsageError):
            self.lost += 1
            return None
        self.files[chosen] = path
        return chosen
