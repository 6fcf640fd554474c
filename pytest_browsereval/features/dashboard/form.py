"""The dashboard's page: the viewer's parts, with a live view above them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files

from pytest_browsereval.report.viewer.page import SCRIPTS, Form, part, run_form, script_named

# Only the page's own script runs; it asks only this server, and cannot turn a text into markup.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


@cache
def live_form() -> Form:
    """Return the form of the dashboard's page."""
    own = files("pytest_browsereval.features.dashboard")

    def read(name: str) -> str:
        return own.joinpath(name).read_text(encoding="utf-8")

    viewers = [read("script/asking.js") if name == "details" else script_named(name) for name in SCRIPTS]
    scripts = (*viewers, *(read(f"script/{name}.js") for name in ("lanes", "queue", "live")))
    style = part("page.css") + read("live.css")
    return replace(run_form(), scripts=scripts, style=style, policy=POLICY, live=read("live.html"))
