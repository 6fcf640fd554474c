"""A text is on a page for every tool and every check, or for none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.features.files.conftest import said
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer

SHADOW = """<x-a></x-a><script>customElements.define('x-a', class extends HTMLElement { connectedCallback() {
  this.attachShadow({mode: 'open'}).innerHTML = 'Shadow direct<p>Shadow inner</p>'; } });</script>"""
SHOWN = {
    "Shadow direct": SHADOW,
    "Framed inside": "<iframe srcdoc='<p>Framed inside</p>'></iframe>",
    "Result 42": "<textarea>Result 42</textarea>",
    "Typed in": "<label>Name <input value='Typed in'></label>",
    "Second choice": "<select><option>First<option selected>Second choice</select>",
    "Search goods": "<input placeholder='Search goods'>",
    "Company logo": "<img src=data:, alt='Company logo'>",
    "Cancel": "<button>Save</button><button>Cancel</button>",
    "5 new": "<style>.new::after { content: ' new' }</style><p class=new>5</p>",
    "Amount due": "<p>\u200fAmount\u200f \u2067due\u2069</p>",
    "Mark alone": "<style>.v { visibility: hidden } .v::before { content: 'Mark alone'; visibility: visible }"
    "</style><p class=v>",
    "Contents shown": "<div style='display: contents'>Contents shown</div>",
}
HIDDEN = {
    "Never shown": "<p style='display: none'>Never shown</p>",
    "Kept shut": "<details><summary>More</summary><p>Kept shut</p></details>",
    "Out of sight": "<p style='visibility: hidden'>Out of sight</p>",
    "Found later": "<div hidden=until-found><p>Found later</p></div>",
    "Framed away": "<iframe hidden srcdoc='Framed away'></iframe>",
}


def ask(name: str, url: str, *texts: str, limit_s: float = 20.0) -> dict[str, Any]:
    waits = [{"tool": "wait_for_text", "text": text, "timeout_s": limit_s} for text in texts]
    solution = [{"tool": "snapshot"}, {"tool": "read_text"}, *waits, {"tool": "done", "answer": "seen"}]
    checks = [{"text": text} for text in texts]
    return row(name, start_url=url, checks=checks, graders=["page_state"], solution=solution)


@pytest.mark.slow
def test_every_reader_sees_the_same(evals: Evals) -> None:
    """Shadow trees, frames of any origin, fields, frame sets: what one shows, all find, and no more."""
    here, other = PageServer(), PageServer("127.0.0.2")
    theirs = other.page("/", "<p>Of another origin</p>")
    frame = f"<iframe src='{theirs}'></iframe>"
    page = here.page("/", f"<!doctype html>{''.join(SHOWN.values())}{frame}{''.join(HIDDEN.values())}")
    inner = here.page("/inner", "<p>Upper part</p>")
    frames = here.page(
        "/set", f"<frameset rows='50%,50%'><frame src='{inner}'><frame src='{theirs}'></frameset>"
    )
    rows = (
        ask("shown", page, *SHOWN, "Of another origin"),
        ask("frames", frames, "Upper part", "Of another origin"),
        ask("hidden", page, *HIDDEN, limit_s=0),
    )
    run = evals.play(rows, browser="playwright")
    for server in (here, other):
        server.close()
    assert {one.query_id: str(one.verdict) for one in run.attempts} == {
        "shown": "passed",
        "frames": "passed",
        "hidden": "failed",
    }
    told = said(run)
    tree, text, *waits = told["shown"]
    assert "Of another origin" in text
    for shown, one in zip(SHOWN, waits, strict=False):
        assert shown in text
        assert one.startswith(f"{shown!r} is on the page.")
        assert all(word in tree for word in shown.split())
    grade = run.attempt("hidden").grader_results["page_state"]
    assert len([one for one in grade.criteria if one.verdict == "failed"]) == len(HIDDEN)
    tree, text, *waits = told["hidden"]
    assert waits[0] == "'Never shown' did not appear on the page within 0 s."
    assert not [hidden for hidden in HIDDEN if hidden in text or hidden in tree]
