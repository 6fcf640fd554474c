"""Names for node ids and folders, made of row ids that may hold anything.

``safe_id`` is for node ids: lower-case and capital letters differ. ``safe_folder`` is for folders:
its names differ where file systems do not tell ``A`` from ``a``. Both are injective, and both give
names that are legal on Linux, macOS and Windows.
"""

from __future__ import annotations

import hashlib
import re

MAX_LENGTH = 100
"""Longer names are cut and end in a hash."""

ESCAPE = "+"
"""Begins an encoded byte, ``+2f``: legal in paths, node ids and ``-k`` expressions alike."""

CUT = "+-"
"""Begins the hash of a name that was cut; an escape never begins like this."""

CAPITALS = "++"
"""Begins the capitals' bit mask of a folder's name; an escape never begins like this."""

_HASH_DIGITS = 24

_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|\Z)", re.IGNORECASE)
"""What Windows takes for a device, with any suffix."""

_UNSAFE = re.compile(r"^[.-]|(?<=\.)\.|\.\Z|[^A-Za-z0-9._-]", re.DOTALL)
"""Characters that are encoded: all but plain ones, and dots where they mean something."""

_PLAIN = re.compile(rf"(?!{_RESERVED.pattern})\w[\w-]*+(?:\.[\w-]++)*+", re.ASCII | re.IGNORECASE)
"""What most ids are: nothing of them is encoded."""


def safe_id(query_id: str) -> str:
    """Return the name of a row in node ids: the id itself if it is made of ``A-Z a-z 0-9 . _ -``.

    Raises:
        ValueError: the id is empty.
    """
    if not query_id:
        raise ValueError("an id must not be empty")
    if len(query_id) <= MAX_LENGTH and _PLAIN.fullmatch(query_id):
        return query_id
    name = _UNSAFE.sub(_escape, query_id)
    if _RESERVED.match(name):
        name = f"{ESCAPE}{ord(name[0]):02x}{name[1:]}"
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(query_id.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    kept = name[: MAX_LENGTH - len(CUT) - len(digest)]
    return re.sub(r"\+[0-9a-f]?$", "", kept) + CUT + digest


def safe_folder(query_id: str) -> str:
    """Return the name of a row's folder: ``safe_id``, and a mark of its capitals if it has some.

    Raises:
        ValueError: the id is empty.
    """
    name = safe_id(query_id)
    if name == name.lower() or CUT in name:
        return name
    mask = sum(1 << place for place, letter in enumerate(filter(str.isalpha, name)) if letter.isupper())
    return f"{name}{CAPITALS}{mask:x}"


def original_id(name: str) -> str | None:
    """Return the row id that ``safe_id`` made this name of; None if it was cut or is no such name."""
    if CUT in name:
        return None
    try:
        raw = re.sub(rb"\+([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), name.encode("ascii"))
        query_id = raw.decode("utf-8", "surrogatepass")
        return query_id if safe_id(query_id) == name else None
    except ValueError:
        return None


def _escape(match: re.Match[str]) -> str:
    return "".join(f"{ESCAPE}{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass"))
