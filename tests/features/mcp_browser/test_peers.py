"""Whole runs in browsers that the MCP servers of others drive; ``pytest -m peers`` runs them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.conformance.browsers import BrowserConformance
from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig
from pytest_browsereval.features.scripted_model.replies import Reply
from pytest_browsereval.testing import ModelRequest, ScriptedModel, call, calls, done
from tests.features.mcp_browser import peers
from tests.hooks import desk as desk_program
from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.peers

SHOP = Path(__file__).parents[3] / "examples" / "quickstart" / "sites" / "shop"


@pytest.fixture(scope="module")
def programs(pytestconfig: pytest.Config) -> Path:
    """Return the folder of the servers."""
    return peers.installed(pytestconfig) / ".bin"


PLAYWRIGHT = {
    "link": r'link "Copper Kettle"[^\n]*?\[ref=(\w+)\]',
    "click": lambda ref: call("browser_click", target=ref, element="the kettle"),
    "look": lambda: call("browser_snapshot"),
    "order": [
        {"tool": "browser_type", "target": "input", "text": "two pens"},
        {"tool": "browser_click", "target": "button"},
    ],
}
DEVTOOLS = {
    "link": r'uid=(\w+) link "Copper Kettle"',
    "click": lambda uid: call("click", pageId=1, uid=uid),
    "look": lambda: call("take_snapshot", pageId=1),
    "order": [
        {
            "tool": "evaluate_script",
            "pageId": 1,
            "function": "() => { document.querySelector('input').value = 'two pens'; "
            "document.querySelector('button').click(); }",
        },
        {"tool": "wait_for", "pageId": 1, "text": ["Thanks"]},
    ],
}


def shopper(words: dict[str, Any]) -> Callable[[ModelRequest], Reply | str]:
    """Return a model that looks up what the kettle costs."""

    def reply(request: ModelRequest) -> Reply | str:
        turn = len([message for message in request.messages if message["role"] == "assistant"])
        if turn == 0:
            found = re.search(words["link"], request.text)
            return calls(words["click"](found[1])) if found else "There is no kettle."
        if turn == 1:
            return calls(words["look"]())
        price = re.search(r"\$\s?(\d+)", request.last_text)
        return done(f"It costs {price[1]} dollars." if price else "There is no price.")

    return reply


def attempts(evals: Evals) -> dict[str, dict[str, Any]]:
    """Return the metadata of the attempts by row."""
    found = (evals.run_folder() / "tasks").rglob("metadata.json")
    loaded = [json.loads(file.read_text()) for file in found]
    return {one["query_id"]: one for one in loaded}


def play(evals: Evals, browser: dict[str, Any], words: dict[str, Any], **keys: Any) -> None:
    """Have a model read a price in the shop, and a script order at the desk."""
    shutil.copy(desk_program.__file__, evals.path / "desk.py")
    state = {"type": "state_diff", "source": {"url": "{desk}/api/state"}}
    kettle = row("kettle", graders=[{"type": "answer", "match": "number"}], answer=64, start_url="{shop}/")
    pens = row("pens", graders=[state], checks=[{"path": "orders", "equals": ["two pens"]}], answer=None)
    pens |= {"start_url": "{desk}/", "solution": [*words["order"], {"tool": "done", "answer": "ordered"}]}
    gone = row("gone", start_url="http://127.0.0.1:1/")
    sites = {
        "shop": {"static": str(SHOP)},
        "desk": {"command": ["{python}", "desk.py"], "reset": "POST /reset"},
    }
    with ScriptedModel(shopper(words)) as model:
        agent = {"type": "single", "model": "scripted", "base_url": model.base_url}
        evals.write_rows(kettle, name="kettle.jsonl")
        evals.write_config(
            "kettle.eval.yaml", browser=browser, sites=sites, agent=agent, dataset="kettle.jsonl", **keys
        )
        bought = evals.run("--eval-config=kettle.eval.yaml")
    bought.assert_outcomes(passed=1)
    evals.write_rows(pens, gone)
    evals.write_config(browser=browser, sites=sites, **keys)
    evals.run("--eval-config=shop.eval.yaml").assert_outcomes(passed=1, errors=1)
    found = attempts(evals)
    assert found["pens"]["final_url"].endswith("/orders")
    assert found["gone"]["error_source"] == "navigation"
    pictures = sorted((evals.run_folder("kettle") / "tasks").rglob("*.jpeg"))
    # Of the start page, and of the two calls that act on a page.
    assert [picture.read_bytes()[:2] for picture in pictures] == [b"\xff\xd8"] * 3


def test_playwright_mcp_over_stdio(evals: Evals, programs: Path) -> None:
    """A server for each attempt, several at once."""
    command = peers.playwright_mcp(programs, "--output-dir", "{folder}")
    play(evals, peers.browser_block(command), PLAYWRIGHT, lanes=2)


def test_playwright_mcp_over_http(evals: Evals, programs: Path) -> None:
    """One server for all; by its number instead of its name it refuses, and the message says so."""
    with peers.served(peers.playwright_mcp(programs), evals.path) as url:
        play(evals, {"type": "mcp", "url": url}, PLAYWRIGHT)
        evals.write_config(browser={"type": "mcp", "url": url.replace("localhost", "127.0.0.1")})
        refused = evals.run("--eval-config=shop.eval.yaml")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    told = " ".join(refused.stderr.str().split())
    assert "HTTP status 403 Forbidden" in told
    assert "answer to the name `localhost` only" in told


def test_chrome_devtools_mcp_over_stdio(evals: Evals, programs: Path) -> None:
    """Its tools want the page named, and its navigation does not call an error one."""
    play(evals, peers.browser_block(peers.devtools_mcp(programs)), DEVTOOLS)


class TestPlaywrightOverStdio(BrowserConformance):
    """The suite for every browser."""

    @pytest.fixture
    def config(self, programs: Path) -> McpBrowserConfig:
        command = peers.playwright_mcp(programs, "--output-dir", "{folder}", is_shell=True)
        return McpBrowserConfig.model_validate(peers.browser_block(command))


class TestDevtoolsOverStdio(BrowserConformance):
    """The same."""

    @pytest.fixture
    def config(self, programs: Path) -> McpBrowserConfig:
        return McpBrowserConfig.model_validate(
            peers.browser_block(peers.devtools_mcp(programs, is_shell=True))
        )
