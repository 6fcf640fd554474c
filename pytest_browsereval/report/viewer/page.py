"""The page itself: one file with its style, its script and the rows; it loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from pytest_browsereval.model.display import well_formed

_SHARED = ("choice", "details", "table", "picture", "records", "timeline", "grades", "about")

SCRIPTS = {
    "page": ("base", "rows", "trials", *_SHARED, "plots", "overview", "attempt", "main"),
    "comparison": ("base", "rows", "pairs", *_SHARED, "compared", "pair", "main"),
}
"""Of each page, in the order in which they are put together: a page that is a file cannot import modules."""

STYLES = {"page": ("page",), "comparison": ("page", "comparison")}

_POLICY = (
    "default-src 'none'; script-src {script} 'strict-dynamic'; style-src {style}; "
    "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
"""Only the page's own script runs, and the scripts with details that it loads."""


def page(data: Mapping[str, Any], title: str, details: str = "", kind: str = "page") -> str:
    """Return the page.

    Args:
        data: what its script draws, plain values.
        title: of the window.
        details: markup with the details of attempts, for a page that stands alone.
        kind: which page it is, by the name of its file here.
    """
    home = files("pytest_browsereval.report.viewer")
    style = "\n".join(home.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in STYLES[kind])
    parts = [home.joinpath("script", f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS[kind]]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    text = home.joinpath(f"{kind}.html").read_text(encoding="utf-8")
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    marks = {
        "policy": policy,
        "title": _escaped(title),
        "style": style,
        "script": script,
        "data": in_html(data),
        "details": details,
    }
    head, *rest = text.split("@@")  # names and texts take turns, so that no text is searched for names
    return head + "".join(marks[part] if place % 2 == 0 else part for place, part in enumerate(rest))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escaped(text: str) -> str:
    return well_formed(text).replace("&", "&amp;").replace("<", "&lt;")


def in_html(data: Any) -> str:
    """Return plain values as JSON that ends no script block and begins no comment."""
    text = well_formed(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


as_script = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Returns plain values as an expression of JavaScript, in which texts are texts."""
