"""A request as a text, in all ways in which it may be encoded."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from urllib.parse import unquote, unquote_plus

from pytest_browsereval.redaction.text import well_formed

_DEEP = 3
"""Encodings one within the other."""
_MOST = 8_000_000
"""Characters of all readings of a request."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_BASE64 = (re.compile(r"[A-Za-z0-9+/]{6,}"), re.compile(r"[A-Za-z0-9_-]{6,}"))


def list_readings(request: str) -> Iterator[str]:
    """Yield a request as a text, first as it was sent.

    Then with its percent-encodings taken back (in UTF-8 and Latin-1, a plus for a blank and for itself), the
    escapes of its JSON, what of it is base64 of a text, and several of these, up to three deep.
    """
    texts = [request]
    known, size = set(texts), 0
    for _ in range(_DEEP + 1):
        for text in texts:
            yield text
            size += len(text)
        texts = [new for text in texts for decode in _DECODERS if (new := decode(text)) not in known]
        texts = list(dict.fromkeys(texts))
        known.update(texts)
        if size > _MOST or not texts:
            return


def _unescape(text: str) -> str:
    def read(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        return chr(int(code, 16)) if code else _NAMED.get(found[3], found[3])

    return well_formed(_ESCAPE.sub(read, text)) if "\\" in text else text


def _read_base64(pattern: re.Pattern[str], text: str) -> str:
    def read(found: re.Match[str]) -> str:
        plain = found[0].replace("-", "+").replace("_", "/")
        with suppress(binascii.Error, UnicodeDecodeError):
            said = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
            if all(one.isprintable() or one.isspace() for one in said):
                return said
        return found[0]

    return pattern.sub(read, text)


_DECODERS: tuple[Callable[[str], str], ...] = (
    unquote_plus,
    unquote,
    partial(unquote_plus, encoding="latin-1"),
    _unescape,
    *(partial(_read_base64, pattern) for pattern in _BASE64),
)
