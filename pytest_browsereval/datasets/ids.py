"""Names for node ids and folders, made from row ids, which may hold anything.

``safe_id`` makes names for node ids, ``safe_folder`` makes names for folders, which differ on file systems
that ignore case as well. Both are injective, and all names are legal on Linux, macOS and Windows.
"""

from __future__ import annotations

import hashlib
import re

MAX_LENGTH = 100
"""Longer names are cut and end with a hash."""

ESCAPE = "+"
"""Begins an encoded byte, ``+2f``: legal in paths, node ids and ``-k`` expressions."""

CUT = "+-"
"""Begins the hash of a name that was cut; no escape begins like this."""

CAPITALS = "++"
"""Begins the bit mask of the capitals in a folder's name; no escape begins like this."""

_HASH_DIGITS = 24

# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|\Z)", re.IGNORECASE)
"""Names of devices on Windows, with any suffix."""

_UNSAFE = re.compile(r"^[.-]|(?<=\.)\.|\.\Z|[^A-Za-z0-9._-]", re.DOTALL)
"""Characters that are encoded: all but plain ones, and dots that have a meaning in paths."""

_PLAIN = re.compile(rf"(?!{RESERVED.pattern})\w[\w-]*+(?:\.[\w-]++)*+", re.ASCII | re.IGNORECASE)
"""Most ids: nothing in them is encoded."""


def safe_id(query_id: str) -> str:
    """Return the name of a row in node ids: the id itself if it has only ``A-Z a-z 0-9 . _ -``.

    Raises:
        ValueError: the id is empty.
    """
    if not query_id:
        raise ValueError("an id must not be empty")
    if len(query_id) <= MAX_LENGTH and _PLAIN.fullmatch(query_id):
        return query_id
    name = _UNSAFE.sub(_escape, query_id)
    if RESERVED.match(name):
        name = f"{ESCAPE}{ord(name[0]):02x}{name[1:]}"
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(query_id.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    # A cut through an escape would leave `+` or `+2`, which no reader could decode.
    kept = name[: MAX_LENGTH - len(CUT) - len(digest)]
    return re.sub(r"\+[0-9a-f]?$", "", kept) + CUT + digest


def safe_folder(query_id: str) -> str:
    """Return the name of a row's folder: ``safe_id``, with a mark for capital letters.

    Raises:
        ValueError: the id is empty.
    """
    name = safe_id(query_id)
    # On macOS and Windows the folders `A` and `a` are one; the mask tells which letters are capitals.
    if name == name.lower() or CUT in name:
        return name
    mask = sum(1 << place for place, letter in enumerate(filter(str.isalpha, name)) if letter.isupper())
    return f"{name}{CAPITALS}{mask:x}"


def name_attempt(eval_name: str, run: str, query_id: str, variant: str, *, trial: int, attempt: int) -> str:
    """Return ``EVAL/RUN/TASK/VARIANT/TRIAL/ATTEMPT``, the id of an attempt on any machine.

    The eval is in it because the evals of a session have runs of one id.
    """
    home = safe_folder(eval_name)
    return f"{home}/{run}/{safe_folder(query_id)}/{safe_folder(variant)}/{trial}/{attempt}"


def original_id(name: str) -> str | None:
    """Return the row id that ``safe_id`` has made this name from; None if it was cut or is another name."""
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
