"""Text of rows, pages and models inside Markdown."""

from __future__ import annotations

from pytest_browsereval.model.display import one_line

LONGEST = 400

_SPECIAL = "\\`*_[]|#!~$"


def quote_text(value: str, longest: int = LONGEST) -> str:
    """Return text as one line that means nothing in Markdown or HTML: no link, picture, table or mention.

    Args:
        value: the text.
        longest: characters that are shown before it is cut.
    """
    plain = one_line(value, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = "".join(f"\\{c}" if c in _SPECIAL else c for c in plain)
    return escaped.replace("://", "\\://").replace("www.", "www\\.").replace("@", "@<!-- -->")
