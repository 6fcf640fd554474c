"""Marks that replace secrets. Run folders and cassettes hold these words: they do not change.

``restoring`` has another mark, with the name of a variable in it, for what comes back.
"""

from __future__ import annotations

import re

MARK = "[redacted]"
"""In what is recorded, and in messages about it."""

HIDDEN = "***"
"""In a config that is shown. Another word: the hash by which a run goes on is that of the config as shown."""

REMOVED = "[removed]"
"""In recorded traffic: a cookie or a header taken out as a whole, secret or only not asked for."""

WITHHELD = "[withheld]"
"""In grades: the reference answer of a protected task, which is not a secret: a reader of the row has it."""

TOKEN_MARK = re.compile(r"-removed-\d+-")
"""In traffic that is replayed: each token has its own, of signs that no address writes in another way."""


def mark_token(number: int) -> str:
    """Return what stands for a token."""
    return f"-removed-{number}-"
