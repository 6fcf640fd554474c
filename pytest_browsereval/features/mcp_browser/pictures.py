"""Pictures as a server sends them, made into the format that was asked for."""

from __future__ import annotations

import base64
import binascii
import io

from pytest_browsereval.browsers.base import PictureFormat

_BEGINNINGS: dict[PictureFormat, tuple[bytes, int]] = {
    "jpeg": (b"\xff\xd8\xff", 0),
    "png": (b"\x89PNG\r\n", 0),
    "webp": (b"WEBP", 8),
}
"""The bytes that tell a format, and where they are: the media type that a server names may be wrong."""


def convert_picture(encoded: str, picture: PictureFormat, quality: int) -> bytes:
    """Return the picture in a format; unchanged if it has that already.

    Args:
        encoded: the picture in base64.
        picture: the format wanted.
        quality: 0 to 100, for jpeg and webp.

    Raises:
        ValueError: it is not a picture.
    """
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError(f"its base64 is broken: {error}") from None
    mark, place = _BEGINNINGS[picture]
    if data[place : place + len(mark)] == mark:
        return data
    from PIL import Image

    written = io.BytesIO()
    try:
        # Only these: other formats of Pillow start programs or read further files.
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP", "GIF", "BMP")) as image:
            image.convert("RGB").save(written, picture.upper(), quality=quality)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"its {len(data)} bytes cannot be read as a picture: {error}") from None
    return written.getvalue()
