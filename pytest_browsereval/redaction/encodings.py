"""Secrets as base64 writes them, whatever stands before them: ``user:KEY`` of a basic login."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import quote

_SHORTEST = 7
"""Characters; fewer would be found in pictures by chance."""


def base64_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return what of secrets is the same in base64 whatever stands beside them, the longest first.

    Three bytes become four characters, so that a secret has three forms, by how much stands before it. A
    character that says something of a neighbour as well is in none of them; at the end of a text the last
    one has no neighbour.
    """
    found: set[str] = set()
    for secret in secrets:
        data = secret.encode("utf-8", "surrogatepass")
        for before in range(3):
            plain = base64.b64encode(bytes(before) + data).decode()
            start = -(-8 * before // 6)
            form = plain[start : 8 * (before + len(data)) // 6]
            if len(form) < _SHORTEST:
                continue
            # Where nothing stands behind it, the last character is the secret's alone.
            for each in (form, plain[start:], plain[start:].rstrip("=")):
                # In an address both signs of the first are quoted; the second is made for addresses.
                found |= {each, quote(each, safe=""), each.replace("+", "-").replace("/", "_")}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))
