"""Functions that pages cannot reach: what they see, what pages see of them, where they run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.world import ApartError, ask_apart, find_apart
from tests.support import Visits

HOSTILE = """<h1 id=head>Shown</h1><p>Other</p><iframe srcdoc="<b>Inner</b>"></iframe><script>
  for (const [kind, name] of [[HTMLElement, 'innerText'], [Node, 'textContent'], [Element, 'id']])
    Object.defineProperty(kind.prototype, name, {get: () => 'evil'});
  JSON.stringify = eval = document.createElement = Array.prototype.push = () => 'evil';
  document.querySelector = () => null;
</script>"""
LOOK = "(root, key) => [root.nodeName, (root.querySelector?.('h1') ?? root).innerText, key]"


def test_a_page_changes_nothing_that_is_asked_apart(visit: Visits) -> None:
    """Of documents, elements and frames, with any argument; the page has no new name by it."""
    opened = visit(HOSTILE)
    page, names = opened.window.page, "Object.getOwnPropertyNames(globalThis).length"
    before = opened.js(names)
    keys: list[Any] = [{"a": "\u00fc >> \"b' `\\"}, None, [1.5, "\U0001f600"]]
    for key in keys:
        assert opened.run(ask_apart(page, LOOK, key)) == ["#document", "Shown", key]
    assert opened.run(ask_apart(page.locator("h1"), LOOK)) == ["H1", "Shown", None]
    inner = page.locator("iframe").content_frame
    assert opened.run(ask_apart(inner, "(root) => root.body.innerText")) == "Inner"
    found = find_apart(page, "(root, name) => root.getElementsByTagName(name)[0]", "p")
    assert opened.run(ask_apart(found, "(element) => element.innerText")) == "Other"
    assert opened.js(names) == before


def test_what_a_function_raises_is_an_error(visit: Visits) -> None:
    """It names what was raised, also where the function is not JavaScript."""
    opened = visit("<p>Text</p>")
    for function, why in (("(root) => root.x.y", "TypeError"), ("(", "SyntaxError")):
        with pytest.raises(ApartError, match=why):
            opened.run(ask_apart(opened.window.page, function))
