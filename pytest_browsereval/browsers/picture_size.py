"""Sizes of pictures, from their first bytes: no library is needed for them."""

from __future__ import annotations

from collections.abc import Callable


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a png, jpeg or webp; None for anything else."""
    readers: dict[bytes, Callable[[bytes], tuple[int, int] | None]] = {
        b"\x89PNG": lambda png: (_number(png[16:20]), _number(png[20:24])),
        b"\xff\xd8": _jpeg,
        b"RIFF": _webp,
    }
    size = next((read(data) for start, read in readers.items() if data.startswith(start)), None)
    return size if size and all(size) else None


def _number(part: bytes) -> int:
    return int.from_bytes(part, "big")


_NO_FRAMES = frozenset({0xC4, 0xC8, 0xCC})
"""Markers among those of frames that are none."""


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            return _number(data[place + 7 : place + 9]), _number(data[place + 5 : place + 7])
        place += 1 if marker == 0xFF else 2 + _number(data[place + 2 : place + 4])
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    def little(part: bytes) -> int:
        return int.from_bytes(part, "little")

    match data[12:16]:
        case b"VP8 ":
            return little(data[26:28]) & 0x3FFF, little(data[28:30]) & 0x3FFF
        case b"VP8L":
            bits = little(data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return little(data[24:27]) + 1, little(data[27:30]) + 1
    return None
