"""Secrets taken out of what files hold: texts in UTF-8 and UTF-16, archives, and binary data."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.redaction.marks import MARK
from pytest_browsereval.redaction.names import SHORTEST_SECRET

_DEPTH = 3
"""Archives inside of archives that are opened."""

_PACKED: dict[bytes, tuple[Callable[[io.BytesIO], Any], Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": (lambda file: gzip.GzipFile(fileobj=file), lambda data: gzip.compress(data, mtime=0)),
    b"BZh": (bz2.BZ2File, bz2.compress),
    b"\xfd7zXZ\0": (lzma.LZMAFile, lzma.compress),
}
_DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error)
_ZIP = b"PK\x03\x04"
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_WIDE = {
    "utf-16-le": re.compile(rb"(?:[\x20-\x7e]\0){6,}"),
    "utf-16-be": re.compile(rb"(?:\0[\x20-\x7e]){6,}"),
}
"""Texts of Windows inside of other data."""


class NotSearched(Exception):
    """An archive cannot be looked into: it is too large, locked or damaged."""


@dataclass
class DataRedactor:
    """Takes secrets out of contents of files.

    Args:
        redact_text: takes them out of a text; ``MARK`` stands for each.
        left_bytes: how much may be unpacked in all.
    """

    redact_text: Callable[[str], str]
    left_bytes: int

    def redact(self, data: bytes, depth: int = _DEPTH) -> bytes:
        """Return the contents of a file without secrets; the same object where there is none.

        What is binary keeps its length, so that what refers to places in it still finds them.

        Raises:
            NotSearched: it is an archive that cannot be looked into.
        """
        # A limit of depth: archives can hold themselves.
        if depth and data.startswith(_ZIP):
            return self._zip(data, depth)
        for magic, (unpack, pack) in _PACKED.items():
            if depth and data.startswith(magic):
                inner = self._unpack(unpack, data)
                safe = self.redact(inner, depth - 1)
                return self.redact_unopened(data) if safe == inner else pack(safe)
        return self.redact_unopened(data)

    def redact_unopened(self, data: bytes) -> bytes:
        """Return contents without the secrets that stand in them as they are, archives unopened."""
        if encoding := _BOMS.get(data[:2]):
            text = data[2:].decode(encoding, "surrogatepass") if len(data) % 2 == 0 else ""
            safe = self.redact_text(text)
            if safe != text:
                return data[:2] + safe.encode(encoding, "surrogatepass")
        # Databases and binaries of Windows hold texts without a mark of their order.
        for encoding, pattern in _WIDE.items() if b"\0" in data else ():
            data = pattern.sub(lambda run, e=encoding: self._same_length(run[0], e), data)  # type: ignore[misc]
        text = data.decode("utf-8", "surrogateescape")  # whatever bytes they are, they come out as they were
        safe = self.redact_text(text)
        if safe == text:
            return data
        is_binary = b"\0" in data or (data.decode(errors="ignore") != text)
        return self._same_length(data, "utf-8") if is_binary else safe.encode("utf-8", "surrogateescape")

    def _same_length(self, data: bytes, encoding: str) -> bytes:
        errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
        before = data.decode(encoding, errors)
        after = self.redact_text(before)
        if after == before:
            return data
        # What stands beside a secret is not looked for in it, unless it is shorter than most are.
        for shortest in (SHORTEST_SECRET, 1):
            parts: list[bytes] = []
            for text, is_secret in _align(before, after, shortest):
                raw = text.encode(encoding, errors)
                parts.append(_mask(len(raw), encoding) if is_secret else raw)
            if len(safe := b"".join(parts)) == len(data):
                return safe
        return after.encode(encoding, errors)

    def _unpack(self, unpack: Callable[[io.BytesIO], Any], data: bytes) -> bytes:
        try:
            with unpack(io.BytesIO(data)) as file:
                return self._read(file)
        except _DAMAGED as error:
            raise NotSearched from error

    def _read(self, file: Any) -> bytes:
        inner: bytes = file.read(self.left_bytes + 1)
        self.left_bytes -= len(inner)
        if self.left_bytes < 0:
            self.left_bytes = 0
            raise NotSearched
        return inner

    def _zip(self, data: bytes, depth: int) -> bytes:
        fresh, has_changed = io.BytesIO(), False
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(fresh, "w") as new:
                for member in old.infolist():
                    with old.open(member) as file:
                        inner = self._read(file)
                    safe, name = self.redact(inner, depth - 1), self.redact_text(member.filename)
                    has_changed |= (safe, name) != (inner, member.filename)
                    # Names of members may hold secrets as well.
                    copy = zipfile.ZipInfo(name, member.date_time)
                    copy.compress_type, copy.external_attr = member.compress_type, member.external_attr
                    new.writestr(copy, safe)
                has_changed |= (comment := old.comment) != (safe := self.redact_unopened(comment))
                new.comment = safe
        except (*_DAMAGED, ValueError, RuntimeError, zipfile.BadZipFile) as error:
            raise NotSearched from error
        return fresh.getvalue() if has_changed else self.redact_unopened(data)


def _align(before: str, after: str, shortest: int) -> list[tuple[str, bool]]:
    """Return the parts of a text, each with whether ``MARK`` stands for it in the other one.

    What is between two marks is looked for from the left, and the end at the end. Where that is elsewhere
    than it was, it shows no more than the other text does.

    Args:
        before: with secrets.
        after: without them.
        shortest: characters that a secret has at least.
    """
    kept = after.split(MARK)
    parts, place = [(kept[0], False)], len(kept[0])
    for number, text in enumerate(kept[1:], 1):
        is_last = number == len(kept) - 1
        start = len(before) - len(text) if is_last else before.find(text, place + shortest)
        if start < place:
            return []
        parts += [(before[place:start], True), (text, False)]
        place = start + len(text)
    return parts


def _mask(size: int, encoding: str) -> bytes:
    count = size if encoding == "utf-8" else size // 2
    return (MARK if count >= len(MARK) else "").ljust(count, "*").encode(encoding)
