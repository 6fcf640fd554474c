"""The shipped suites find what is wrong: each fails for a part that breaks its promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals
from tests.support import LEFT_OUT

BAD_AGENT = """
import asyncio
from typing import Literal
import pytest
from pytest_browsereval import AgentConfig, AgentEvaluator, AgentResult
from pytest_browsereval.testing import AgentConformance

class Bad(AgentEvaluator):
    def __init__(self, context):
        self.context = context

    async def execute(self):
        self.context.capture.messages.log(_orphan())
        for _ in range(3):
            try:
                await self.context.tools.call("click", {"target": "role=button"})
            except Exception:
                raise RuntimeError("swallowed")
        asyncio.ensure_future(_forever())
        return AgentResult(42)

async def _forever():
    await asyncio.sleep(3600)

def _orphan():
    from pytest_browsereval.model.messages import ToolResultMessage
    return ToolResultMessage(tool_call_id="nobody's", result="x", is_error=False)

class BadConfig(AgentConfig):
    type: Literal["bad"] = "bad"
    key: str = "sk-not-hidden-1234"

    def build(self, context):
        return Bad(context)

    def secrets(self):
        return (self.key,)

class TestBad(AgentConformance):
    @pytest.fixture
    def config(self):
        return BadConfig()
"""

SWALLOWING = """
import asyncio
from typing import Literal
import pytest
from pytest_browsereval import AgentConfig, AgentEvaluator, AgentResult, Usage
from pytest_browsereval.testing import AgentConformance

class Swallowing(AgentEvaluator):
    def __init__(self, context):
        self.context = context

    async def execute(self):
        for _ in range(2):
            try:
                await self.take_turn()
            except Exception:
                pass
        return AgentResult("clicked")

    async def take_turn(self):
        uses = self.context.config.uses
        if uses == "steps":
            await self.context.tools.call("click", {"target": "role=button"})
        elif uses == "time":
            try:
                await asyncio.sleep(0.5)
            except asyncio.CancelledError:
                pass
        else:
            tokens, cost = (9, None) if uses == "tokens" else (0, 0.5)
            self.context.capture.spend(Usage(requests=1, input_tokens=tokens, cost_usd=cost))

class SwallowingConfig(AgentConfig):
    type: Literal["swallowing"] = "swallowing"
    uses: str

    def build(self, context):
        return Swallowing(context)

class TestSwallowing(AgentConformance):
    @pytest.fixture(params=["steps", "tokens", "money", "time"])
    def config(self, request):
        return SwallowingConfig(uses=request.param)
"""

BAD_BROWSER = """
from typing import ClassVar, Literal
import pytest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.testing import BrowserConformance

class Sharing(PlaywrightBrowser):
    # Carries the cookies of one window into the next.
    cookies = ()

    async def open_window(self, request):
        window = await super().open_window(request.__class__(request.query_id))
        await window.context.add_cookies(self.cookies)
        await window.page.goto(request.start_url)
        type(self).cookies = await window.context.cookies()
        return window

class SharingConfig(PlaywrightBrowserConfig):
    type: Literal["sharing"] = "sharing"
    has_page: ClassVar[bool] = False

    def build(self):
        return Sharing(self)

class TestSharing(BrowserConformance):
    @pytest.fixture
    def config(self):
        return SharingConfig()
"""


def run_suite(folder: Path, text: str) -> EvalRun:
    """Run a suite of somebody else's in a process of its own, which may be left in a bad state."""
    (folder / "test_bad.py").write_text(text)
    evals = Evals(folder)
    evals.options = LEFT_OUT
    return evals.run_process("-q")


def failed(result: EvalRun) -> set[str]:
    return {line.split("::")[2].partition(" ")[0] for line in result.outlines if line.startswith("FAILED")}


@pytest.mark.slow
def test_a_bad_agent_is_found_out(tmp_path: Path) -> None:
    """Each promise that it breaks has a test that says so."""
    result = run_suite(tmp_path, BAD_AGENT)
    assert failed(result) >= {
        "test_its_config_is_a_member",
        "test_it_ends_with_a_result",
        "test_its_log_can_be_read",
        "test_it_lets_a_limit_through",
        "test_it_notices_that_the_browser_died",
    }
    result.stdout.fnmatch_lines(["*a secret is in the block's JSON*"])


@pytest.mark.slow
def test_an_agent_that_catches_limits_is_found_out(tmp_path: Path) -> None:
    """Whether it would go on after its steps or after its tokens, one test fails and says what to write."""
    result = run_suite(tmp_path, SWALLOWING)
    assert failed(result) == {
        "test_it_lets_a_limit_through[steps]",
        "test_it_lets_a_limit_through[tokens]",
        "test_it_lets_a_limit_through[money]",
        "test_it_can_be_cancelled[time]",
    }
    result.stdout.fnmatch_lines(["*LimitReached was caught (*Do not catch it*"])


@pytest.mark.slow
def test_a_bad_browser_is_found_out(tmp_path: Path) -> None:
    """Windows that share cookies, a page that is not promised, a start page whose failure is no fault."""
    result = run_suite(tmp_path, BAD_BROWSER)
    assert failed(result) == {
        "test_attempts_share_nothing",
        "test_a_start_page_that_is_not_there_is_a_fault",
        "test_a_window_opens_at_its_start_page",
    }
    result.stdout.fnmatch_lines(["*a cookie of one attempt reached another one*"])
