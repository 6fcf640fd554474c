"""A browser of a plug-in: what its windows lack is refused before the run, never an agent's failure."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing import ScriptedModel, call, calls, done
from tests.hooks.small_evals import Evals, row, single_agent
from tests.support import PageServer

PLAIN = '''
from typing import ClassVar, Literal
from pytest_browsereval import (
    Browser, BrowserConfig, Tab, Toolkit, ToolkitConfig, Window, WindowRequest, tool,
)

class PlainConfig(BrowserConfig):
    type: Literal["nimbus/plain"] = "nimbus/plain"

    def build(self):
        return Plain()

class LyingConfig(PlainConfig):
    type: Literal["nimbus/lying"] = "nimbus/lying"
    has_page: ClassVar[bool] = True

class Plain(Browser):
    description = "plain windows"

    async def start(self):
        """Nothing to start."""

    async def open_window(self, request: WindowRequest):
        return PlainWindow(request.start_url or "about:blank")

    async def close(self):
        """Nothing to close."""

class PlainWindow(Window):
    window_id = tab_id = 1
    dead = None
    url = ""

    def __init__(self, url):
        self.url = url
        self.page = self  # by chance

    async def tabs(self):
        return [Tab(1, self.url, "Plain", is_current=True)]

    async def screenshot(self, picture="jpeg", quality=80):
        from pytest_browsereval.testing.blank import _white
        return _white(picture, quality)

    async def close(self):
        """Nothing to close."""

@tool
async def look(window: PlainWindow) -> str:
    """Look at the page."""
    return f"a page at {window.url}"

class LooksConfig(ToolkitConfig):
    type: Literal["looks"] = "looks"

    def build(self):
        return Toolkit("looks", "Looking", (look,), needs_page=False)

def pytest_browsereval_register(registry):
    for member in (PlainConfig, LyingConfig, LooksConfig):
        registry.register(member)
'''
PAGE = "http://shop.test/"
NO_PAGE = "the windows of `browser: {type: nimbus/plain}` have no Playwright page"


@pytest.fixture
def plain(evals: Evals) -> Evals:
    """Evals with a conftest that brings a browser whose windows are no Playwright's."""
    evals.pytester.makeconftest(PLAIN)
    evals.write_rows(row("a", start_url=PAGE))
    return evals


CLICKS = [{"tool": "click", "target": "text=Buy"}, {"tool": "done", "answer": "right"}]
STATE = {"graders": ["page_state"], "checks": [{"title": "Shop"}], "answer": None}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "step": ({"solution": CLICKS}, {}, "step 1 of the solution calls 'click', which is not a tool"),
    "tool": ({}, {"tools": {"evaluate": True}}, "evaluate is on, and evaluate cannot work: the windows of"),
    "grader": (STATE, {}, "the grader 'page_state' reads the live page, and `browser: {type: nimbus/"),
    "script": ({"setup_script": "1"}, {}, "the row has a setup_script, and `browser: {type: nimbus/plain}`"),
    "trace": ({}, {"capture": {"trace": "on"}}, "capture.trace is on, and `browser: {type: nimbus/plain}`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_window_lacks_is_refused_before_the_run(plain: Evals, case: str) -> None:
    """A run that needs a page ends with exit code 4 before an attempt; the message names browser and need."""
    more, keys, told = REFUSED[case]
    result = plain.play([row("a", start_url=PAGE, **more)], browser="nimbus/plain", **keys)
    assert result.ret == 4
    assert all(part in result.stderr.str() for part in told.split("*"))
    assert not (plain.path / "results").exists()


def test_a_model_with_tools_that_work_there_gets_these_alone(plain: Evals) -> None:
    """Tools of a toolkit that needs no page are offered, ours that need one are not, as the head says."""
    with ScriptedModel([calls(call("look")), done("right")]) as model:
        plain.write_config(browser="nimbus/plain", agent=single_agent(model.base_url), toolkits=["looks"])
        result = plain.run("shop.eval.yaml")
        names = set(model.requests[0].tool_names)
    result.assert_outcomes(passed=1)
    assert names == {"done", "list_tabs", "look", "wait"}
    assert "note: not offered: navigate, go_back" in result.stdout.str()
    assert NO_PAGE in result.stdout.str()
    assert result.attempt("a").warnings == ()


def test_a_browser_that_promises_a_page_has_to_keep_it(plain: Evals) -> None:
    """Its first window errs the attempt and stops the run: no agent works in it, no row after it is tried."""
    result = plain.play([row("a", start_url=PAGE), row("b", start_url=PAGE)], browser="nimbus/lying")
    assert result.ret == 1
    metadata = result.attempt("a")
    found = (metadata.verdict, metadata.error_source, metadata.total_steps)
    assert found == ("errored", "window_creation", 0)
    assert "the browser 'nimbus/lying' (conftest.LyingConfig): `has_page` is true" in metadata.reason
    assert [one["query_id"] for one in plain.summary()["results"]] == ["a"]


def test_the_documented_browser_works(evals: Evals) -> None:
    """The example of the documentation reads a page by its own tool; without its start page a row errs."""
    example = Path(__file__).parents[2] / "docs/examples/text_browser/conftest.py"
    evals.pytester.makeconftest(example.read_text(encoding="utf-8"))
    with closing(PageServer()) as server:
        page = server.page("/mug", "<p>A mug for 12 euros")
        reads = [{"tool": "get", "url": page}, {"tool": "done", "answer": "right"}]
        gone = row("gone", start_url=f"{server.url}/gone")
        evals.write_rows(row("a", start_url=page, solution=reads), gone)
        evals.write_config(browser="text", capture={"screenshots": "off"})
        result = evals.run("shop.eval.yaml")
    result.assert_outcomes(passed=1, errors=1)
    assert server.requests == ["/mug", "/mug", "/gone"]
    assert result.attempt("gone").error_source == "navigation"
    assert "not offered" not in result.stdout.str()
