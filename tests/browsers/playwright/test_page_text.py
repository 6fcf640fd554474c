"""The text of pages, held against what a snapshot shows of them."""

from __future__ import annotations

import re

import pytest

from pytest_browsereval.browsers.playwright.page_text import read_page_text
from tests.support import PATIENCE_S, PageServer, Visit, Visits

HOST = """<script>customElements.define('x-a', class extends HTMLElement { connectedCallback() {
  this.attachShadow({mode: '%s'}).innerHTML = `%s`; } });</script>"""
OPEN = HOST % ("open", "direct <p>inner</p><slot>fallback</slot><p hidden>gone</p>")
GENERATED = """<style>.a::before{content:'\\20AC '} .b::after{content:attr(data-x)}
.c::before{content:'icon' / 'spoken'} .d::after{content:'block'; display:block}
.e::after{content:'up\\A down'}</style>"""

SAME = (
    f"<x-a></x-a>{OPEN}",
    f"<x-a>light <b>bold</b></x-a><x-a style='display:none'></x-a>{OPEN}",
    f"<x-a>outside</x-a>{HOST % ('closed', 'secret <slot></slot>')}",
    "<p>before</p><iframe srcdoc='<p>framed</p><iframe srcdoc=deep></iframe>'></iframe><p>after</p>",
    "<iframe sandbox srcdoc='<p>boxed</p>'></iframe><iframe hidden srcdoc=gone></iframe>",
    (
        "<label>Mail <input value=typed></label><textarea>one\ntwo</textarea><input type=password value=pass>"
        "<input type=checkbox value=no><input type=file><input type=submit><input type=button value=Press>"
    ),
    "<select><option>Small<option selected>Large<option hidden>Ghost</select>",
    "<input placeholder=Find><input placeholder=Hint title=Title><label>L <input placeholder=More></label>",
    "<img alt=Logo src=data:,><img title=Tip src=data:,><img alt='' src=data:,><svg><title>Art</title></svg>",
    (
        "<button aria-label=Close>x</button><nav aria-label=Main>n</nav><p aria-label=Not>par</p>"
        "<button title=Tip></button><a href=# title=Not>content</a><div title=Yes>box</div>"
    ),
    "<span id=h hidden>Named</span><input aria-labelledby=h><input aria-labelledby=h aria-label=Not>",
    (
        "<p hidden>gone</p><p style='visibility:hidden'>gone<b style='visibility:visible'>seen</b></p>"
        "<p style='opacity:0'>clear</p><p style='position:absolute;left:-9999px'>aside</p>"
        "<div style='content-visibility:hidden'><p>gone</p></div><script>gone</script><template>gone"
    ),
    "<div style='display:contents'>contents <p>inner</p></div><div style='display:contents'></div>",
    "<details>gone<summary>Shut</summary><p>gone</p></details><details open><summary>Open</summary>o",
    f"{GENERATED}<p class=a>9</p><p class=b data-x=unit>7</p><p class=c>z</p><p class=d>y</p><p class=e>on",
    "<dialog>gone</dialog><dialog open>shown</dialog><div popover>gone</div><noscript>gone</noscript>",
    (
        "<button>Save</button><button>Cancel</button><a href=#>One</a><a href=#>Two</a><ul><li>p<li>q</ul>"
        "<div style='display:flex'><span>f</span><span>g</span></div><table><tr><td>r<td>s</table>"
    ),
    "<p style='text-transform:uppercase'>lower</p><p>so&shy;ft ze&#8203;ro non&nbsp;breaking</p>",
    "<progress value=.5>half</progress><ruby>kan<rt>ji</rt></ruby><fieldset><legend>Leg</legend></fieldset>",
    (
        "<script>Array.prototype.push = Array.prototype.join = () => 'forged'; JSON.stringify = () => '0';"
        "Object.defineProperty(Node.prototype, 'childNodes', {get: () => []});</script><p>honest</p>"
    ),
)
"""Pages of which a text has the words that a snapshot has, and no others."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text))


def words_of(tree: str) -> set[str]:
    """Return the words of a snapshot that are the page's."""
    lines = [re.sub(r"\[[a-z-]+(=\S+?)?\]", "", line.strip()) for line in tree.splitlines()]
    lines = [line for line in lines if not line.startswith("- /url")]
    return set().union(*(words(re.sub(r"^- '?(/?[a-z]+)", "", line)) for line in lines))


def show(opened: Visit, html: str) -> None:
    opened.run(opened.window.page.set_content(f"<!doctype html>{html}"))


def test_a_text_has_the_words_of_a_snapshot(visit: Visits) -> None:
    """Shadow trees, frames, fields, names and generated content alike; what is hidden is in neither."""
    opened = visit()
    for html in SAME:
        show(opened, html)
        seen = opened.run(read_page_text(opened.window.page, 1000, PATIENCE_S))
        assert seen.is_whole, html
        assert words(seen.value) == words_of(opened.run(opened.window.snapshot())), html
        assert "gone" not in seen.value, html


def test_fields_that_hide_properties_of_their_form_hide_no_text(visit: Visits) -> None:
    """A form answers with its fields where it is asked for its children; a document does so for its body."""
    opened = visit()
    show(
        opened,
        "<form><input name=childNodes value=a><input name=getAttribute value=b><input name=nodeType value=c>"
        "<input name=matches value=d><p>inside</p></form><form name=body></form><img name=defaultView src=x>",
    )
    seen = opened.run(read_page_text(opened.window.page, 1000, PATIENCE_S))
    assert seen.value.split() == ["a", "b", "c", "d", "inside"]


def test_boxes_part_words_and_inline_elements_do_not(visit: Visits) -> None:
    """Two buttons are two words, a link before a full stop is none of its own; `pre` keeps its blanks."""
    opened = visit()
    show(
        opened,
        "<button>Save</button><button>Cancel</button> Read the <a href=#>terms</a>. H<sub>2</sub>O<br>"
        "<td>a</td><pre>if x:\n    y</pre><table><tr><td>1</td><td>2</td></tr></table>",
    )
    seen = opened.run(read_page_text(opened.window.page, 1000, PATIENCE_S))
    assert seen.value == "Save Cancel Read the terms. H2O\na\nif x:\n    y\n1\t2"


@pytest.mark.slow
def test_frames_of_other_origins_are_read_where_they_stand(visit: Visits, pages: PageServer) -> None:
    """Those of another site, with frames of their own, and those that a frame embeds in a frame set."""
    other = PageServer("127.0.0.2")
    other.page("/", f"<p>theirs</p><iframe src='{pages.page('/deep', '<p>deep</p>')}'></iframe>")
    pages.page("/set", f"<frameset cols='50%,50%'><frame src='/deep'><frame src='{other.url}/'></frameset>")
    opened = visit(f"<p>first</p><iframe src='{other.url}/'></iframe><p>last</p>")
    assert opened.output("read_text").split() == ["first", "theirs", "deep", "last"]
    assert opened.output("read_text", target="iframe").split() == ["theirs", "deep"]
    opened.output("navigate", url="/set")
    assert opened.output("read_text").split() == ["deep", "theirs", "deep"]
    other.close()


def test_more_text_than_is_read_is_said_to_be_cut(visit: Visits) -> None:
    """A reader can tell what is not there from what was not read."""
    opened = visit()
    show(opened, f"<p>{'word ' * 300}</p><p>last</p>")
    seen = opened.run(read_page_text(opened.window.page, 100, PATIENCE_S))
    assert (len(seen.value), seen.is_cut, seen.is_whole) == (100, True, False)
    assert opened.run(read_page_text(opened.window.page, 1600, PATIENCE_S)).is_whole


def test_a_field_gives_what_it_holds(visit: Visits) -> None:
    """Its value, not its placeholder; of a list, what is chosen."""
    opened = visit()
    show(
        opened,
        "<input id=a value=typed placeholder=Find><textarea id=b>one\n  two</textarea>"
        "<input id=e placeholder=x>"
        "<select id=c><option>Small<option selected>Large</select>"
        "<select id=d multiple><option selected>1<option>2<option selected>3</select>",
    )
    read = [opened.output("read_text", target=f"#{name}") for name in "abcde"]
    assert read == ["typed", "one\n  two", "Large", "1\n3", "There is no visible text."]
