"""Secrets taken out of a file that the harness has not written."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c")
"""How archives and packed files begin: gzip, bzip2, xz, zip, zstd, 7z."""


def is_packed(path: Path) -> bool:
    """Return whether a file is packed, as a PDF is too, so that no secret in it would be found.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        begins = file.read(1024)
    return begins.startswith(_PACKED) or b"%PDF-" in begins


def redact_file(path: Path, redact: Callable[[str], str]) -> bool:
    """Write a text anew if it holds a secret; return False for another file that holds one.

    Raises:
        OSError: it cannot be read or written.
    """
    data = path.read_bytes()
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        if (safe := redact(text)) != text:
            _replace(path, safe.encode(encoding))
        return True
    # Databases and programs of Windows hold texts of two bytes a letter, at any place.
    forms = [data.decode("utf-8", "replace")]
    if b"\0" in data:
        forms += (
            data[start:].decode(one, "replace") for one in ("utf-16-le", "utf-16-be") for start in (0, 1)
        )
    return all(redact(form) == form for form in forms)


def _replace(path: Path, data: bytes) -> None:
    # A file of its own: this one may have a second name somewhere else.
    fresh = path.with_name(f".{path.name[:100]}.clean")
    try:
        fresh.write_bytes(data)
        fresh.chmod(path.stat().st_mode)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
