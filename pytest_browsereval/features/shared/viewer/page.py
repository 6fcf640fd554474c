"""The page itself: one file with its style, its script and the rows; it loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from pytest_browsereval.redaction.text import well_formed

# What pages of one run and of two have in common.
SHARED = (
    "choice", "parsing", "details", "texts", "table", "picture", "records", "progress", "attack", "timeline",
    "grades", "about",
)  # fmt: skip

# In the order in which they are joined: a page that is a file cannot import modules.
SCRIPTS = (
    "base", "rows", "trials", *SHARED, "plots", "variants", "overview", "attacks", "gate", "links", "strip",
    "search", "attempt", "main",
)  # fmt: skip

# Texts of pages and models are on the page: only our own script runs, and the scripts with details.
_POLICY = (
    "default-src 'none'; script-src {script} 'strict-dynamic'; style-src {style}; "
    "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Form:
    """What a page is made of."""

    markup: str
    """With names between ``@@`` where the rest goes."""
    scripts: tuple[str, ...]
    """Texts, in the order in which they are put together."""
    style: str
    policy: str = _POLICY
    """With ``{script}`` and ``{style}`` where their hashes go."""
    live: str = ""
    """Markup of what goes on, above the run."""

    @cached_property
    def script(self) -> str:
        """All of it in one."""
        return '"use strict";\n(() => {\n' + "\n".join(self.scripts) + "})();\n"


@cache
def policy_of(form: Form) -> str:
    """Return the policy of a page of this form."""
    return form.policy.format(script=hash_of(form.script), style=hash_of(form.style))


@cache
def run_form() -> Form:
    """Return the form of a run's page that is a file."""
    markup = markup_of(part("page_keys.html"), part("page.html"))
    return Form(markup, tuple(script_named(name) for name in SCRIPTS), part("page.css"))


def feature_form(feature: str, name: str, scripts: Sequence[str], own: Collection[str]) -> Form:
    """Return the form of a feature's page.

    Args:
        feature: its folder.
        name: of its files: ``NAME.html``, ``NAME_keys.html``, ``NAME.css``.
        scripts: names, in the order in which they are put together.
        own: those of the feature; the others are the viewer's.
    """
    folder = files(f"pytest_browsereval.features.{feature}")

    def read(file: str) -> str:
        return folder.joinpath(file).read_text(encoding="utf-8")

    texts = tuple(read(f"script/{one}.js") if one in own else script_named(one) for one in scripts)
    markup = markup_of(read(f"{name}_keys.html"), read(f"{name}.html"))
    return Form(markup, texts, f"{part('page.css')}\n{read(f'{name}.css')}")


def markup_of(keys: str, main: str) -> str:
    """Return the markup of a page: the frame that all pages have, with its own keys and content."""
    return part("frame.html").replace("@@keys@@", keys).replace("@@main@@", main)


def part(name: str) -> str:
    """Return a file that the viewer is made of."""
    return files("pytest_browsereval.features.shared.viewer").joinpath(name).read_text(encoding="utf-8")


def script_named(name: str) -> str:
    """Return a part of the viewer's script."""
    return part(f"script/{name}.js")


def page(data: Mapping[str, Any], title: str, details: str = "", form: Form | None = None) -> str:
    """Return the page.

    Args:
        data: what its script draws, plain values.
        title: of the window.
        details: markup with the details of attempts, for a page that stands alone.
        form: what it is made of; by default that of a run.
    """
    form = form or run_form()
    marks = {
        "policy": policy_of(form),
        "title": _escape(title),
        "style": form.style,
        "live": form.live,
        "script": form.script,
        "data": in_html(data),
        "details": details,
    }
    head, *rest = form.markup.split("@@")  # names and texts take turns, so that no text is searched for names
    return head + "".join(marks[one] if place % 2 == 0 else one for place, one in enumerate(rest))


def hash_of(text: str) -> str:
    """Return what a policy calls a script or a style that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escape(text: str) -> str:
    return well_formed(text).replace("&", "&amp;").replace("<", "&lt;")


def in_html(data: Any) -> str:
    """Return plain values as JSON that ends no script block and begins no comment."""
    text = well_formed(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


# For files of scripts: there JSON is JavaScript (ES2019), and `</script>` needs no escape.
as_script = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
