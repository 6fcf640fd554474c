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
    character that says something of a neighbour as well is in none of them.
    """
    found: set[str] = set()
    for secret in secrets:
        data = secret.encode("utf-8", "surrogatepass")
        for before in range(3):
            plain = base64.b64encode(bytes(before) + data).decode()
            form = plain[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
            if len(form) >= _SHORTEST:
                # In an address both signs of the first are quoted; the second is made for addresses.
                found |= {form, quote(form, safe=""), form.replace("+", "-").replace("/", "_")}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))
