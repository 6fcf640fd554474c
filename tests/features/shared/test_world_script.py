"""A script that listens to pages which cannot reach it."""

from __future__ import annotations

import json
from typing import Any

from pytest_browsereval.features.shared.world_script import WorldScript
from tests.support import Visits, until


def test_a_script_hears_every_document_and_no_page_speaks_to_it(visit: Visits) -> None:
    """That of the page, of frames, of other processes, of windows that pages open; each but once."""
    frames = "<iframe src='{other}/inner'></iframe><iframe srcdoc='<p>Own</p>'></iframe>"
    opened = visit("<title>Outer</title>" + frames.format(other="http://localhost:9"))
    heard: list[Any] = []
    script = WorldScript(opened.window.context, "(report) => report(location.href)", heard.append)

    async def listen() -> None:
        await script.begin()
        await opened.window.page.evaluate("() => { open('about:blank#new'); location.hash = 'x' }")
        await opened.window.page.evaluate("document.body.append(document.createElement('iframe'))")
        await until(lambda: len(opened.window.context.pages) > 1)
        await script.settle()

    opened.run(listen())
    assert not script.missed
    assert {"about:srcdoc", "about:blank#new", "about:blank"} <= set(heard)
    assert any(one.startswith("chrome-error") for one in heard), "the frame has a process of its own"
    assert opened.js("Object.keys(globalThis).filter((name) => /browsereval/i.test(name))") == []
    assert json.dumps(heard).count("about:srcdoc") == 1
