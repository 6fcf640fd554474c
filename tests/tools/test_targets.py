from __future__ import annotations

import pytest

from pytest_browsereval.tools.targets import ref_of
from tests.support import PageServer, Visits

FORM = """
<label for=mail>Email</label><input id=mail><label>Email address <input id=long></label>
<button id=one>Add to cart</button><button id=two>Add</button><a href=# id=three>Sign in</a>
"""


@pytest.mark.parametrize(
    ("target", "ref"),
    [
        ("e12", "e12"),
        ("f1e3", "f1e3"),
        (" e12 ", "e12"),
        ("ref=e12", "e12"),
        ("[ref=e12]", "e12"),
        ("[e12]", "e12"),
        ("e", None),
        ("em", None),
        ("e12 > b", None),
        ("#e12", None),
        ("text=e12", None),
    ],
)
def test_a_ref_is_told_from_a_selector(target: str, ref: str | None) -> None:
    """Refs are taken in the ways in which snapshots and models write them."""
    assert ref_of(target) == ref


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("#one", "one"),
        ('role=button[name="Add to cart"]', "one"),
        ('role=button[name="Add"s]', "two"),
        ("text=Sign in", "three"),
        ("label=Email", "mail"),
        ("label= Email ", "mail"),
        ("label='Email'", "mail"),
        ('label="Email address"', "long"),
        ("css=button >> nth=1", "two"),
        ("xpath=//a", "three"),
    ],
)
def test_a_target_finds_its_element(visit: Visits, target: str, found: str) -> None:
    """Roles, texts, labels (exactly), CSS and Playwright's own chains."""
    opened = visit(f"{FORM}<script>onclick = (e) => {{ document.title = e.target.id }}</script>")
    opened.output("click", target=target)
    assert opened.js("document.title") == found


def test_frames_are_entered_step_by_step(visit: Visits, pages: PageServer) -> None:
    """A frame is a target too, a frame in a frame as well, and a ref works inside."""
    pages.page("/deep", "<button onclick='top.document.title = \"deep\"'>a &gt;&gt;&gt; b</button>")
    pages.page("/outer", "<iframe name=deep src='/deep'></iframe>")
    opened = visit("<iframe id=terms src='/outer'></iframe>")
    target = '#terms >>> [name=deep] >>> role=button[name="a >>> b"]'
    assert opened.output("click", target=target) == f"Clicked {target}."
    assert opened.js("document.title") == "deep"
    opened.js("document.title = ''")
    opened.output("click", target="#terms>>>iframe>>>button")
    assert opened.js("document.title") == "deep"
    assert opened.refusal("click", target="#nowhere >>> button").startswith(
        "Nothing matches #nowhere >>> button"
    )


def test_an_ambiguous_frame_is_refused(visit: Visits) -> None:
    """Frames have to match exactly once as well."""
    opened = visit("<iframe></iframe><iframe></iframe>")
    assert "iframe >>> b matches 2 elements" in opened.refusal("click", target="iframe >>> b")


@pytest.mark.parametrize("target", [" >>> b", "b >>> ", "a >>> >>> b", "   "])
def test_an_empty_part_is_refused(visit: Visits, target: str) -> None:
    """It names the form that is allowed."""
    assert "has an empty part. Write FRAME >>> TARGET" in visit().refusal("click", target=target)
