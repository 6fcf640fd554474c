from __future__ import annotations

import re

import pytest

from pytest_browsereval.tools.targets import ref_of
from tests.support import PageServer, Visits

FORM = """
<label for=mail>Email</label><input id=mail><label>Email address <input id=long></label>
<button id=one>Add to cart</button><button id=two>Add</button><a href=# id=three>Sign in</a>
"""


def test_a_ref_is_told_from_a_selector(subtests: pytest.Subtests) -> None:
    """Refs are taken in the ways in which snapshots and models write them."""
    cases: list[tuple[str, str | None]] = [
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
    ]
    for target, ref in cases:
        with subtests.test(target=target, ref=ref):
            assert ref_of(target) == ref


TARGETS = {
    "one": ("#one", 'role=button[name="Add to cart"]'),
    "two": ('role=button[name="Add"s]', "css=button >> nth=1"),
    "three": ("text=Sign in", "xpath=//a"),
    "mail": ("label=Email", "label= Email ", "label='Email'"),
    "long": ('label="Email address"',),
}


def test_a_target_finds_its_element(visit: Visits) -> None:
    """Roles, texts, labels (exactly), CSS and Playwright's own chains."""
    opened = visit(f"{FORM}<script>onclick = (e) => {{ document.title = e.target.id }}</script>")
    for found, spellings in TARGETS.items():
        for target in spellings:
            opened.js("document.title = ''")
            opened.output("click", target=target)
            assert opened.js("document.title") == found, target


def test_a_label_is_a_name_of_a_snapshot_too(visit: Visits) -> None:
    """A label around its field, without what that holds; a placeholder or title where there is none."""
    opened = visit(
        "<label>Size <select id=a><option>S<option>M</select></label><label>Note <textarea id=b>x</textarea>"
        "</label><input id=c placeholder=Find><input id=d title=Until placeholder=x><label>Find <b>all</b>"
        "<input id=e></label><div role=combobox id=f title=Town tabindex=0>x</div>"
        "<x-a></x-a><script>customElements.define('x-a', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'open'}).innerHTML = '<label>Deep <select id=g></select></label>' } });"
        "onclick = (e) => { document.title = e.composedPath()[0].id }</script>"
    )
    labels = ("Size", "Note", "Find", "Until", "'Find all'", "Town", "Deep")
    for name, label in zip("abcdefg", labels, strict=True):
        opened.output("click", target=f"label={label}")
        assert opened.js("document.title") == name, label
    assert opened.refusal("click", target="label=S").startswith("Nothing matches label=S.")
    opened.js("c.outerHTML += c.outerHTML")
    assert opened.refusal("click", target="label=Find").startswith("label=Find matches 2 elements: ")


def test_a_ref_that_the_page_hides_says_so(visit: Visits) -> None:
    """Libraries hide a page behind what they open; its elements lose their refs, and are there."""
    opened = visit(
        "<main id=m><label>Mail <input id=i></label></main><iframe srcdoc='<input id=j title=In>'></iframe>"
    )
    ways = {
        "aria-hidden": "m.ariaHidden = 'true'",
        "pointer-events: none": "document.body.style.pointerEvents = 'none'",
        "hidden": "m.style.display = 'none'",
    }
    for why, script in ways.items():
        tree = opened.output("snapshot")
        (ref,) = re.findall(r'textbox "Mail" (?:\[active\] )?\[ref=(e\d+)\]', tree)
        opened.js(script)
        opened.output("snapshot")
        said = opened.refusal("fill", target=ref, text="x")
        assert said.startswith(f"{ref} (textbox 'Mail') is still on the page, which hides it ({why})"), why
        opened.js("m.ariaHidden = null; m.style.display = document.body.style.pointerEvents = ''")
    opened.output("snapshot")
    opened.js("i.remove()")
    opened.output("snapshot")
    assert opened.refusal("click", target=ref) == f"{ref} is not on the page. Call snapshot to get new refs."


@pytest.mark.slow
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
