"""Whole evals in a browser that runs already."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.features.cdp_browser.browser import CdpBrowserConfig
from pytest_browsereval.testing import BrowserConformance
from tests.browsers.listening import Kept, Listening, listening, relayed
from tests.features.cdp_browser.test_browser import NO_CONTEXTS
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer


@pytest.fixture
def evals(pytester: pytest.Pytester) -> Evals:
    """Return a folder to write evals into and to run them in."""
    return Evals(pytester.path)


class TestConformance(BrowserConformance):
    """The suite that is shipped for others."""

    @pytest.fixture
    def config(self, chromium: Listening) -> CdpBrowserConfig:
        return CdpBrowserConfig(
            url=chromium.url, navigation_timeout_ms=5_000, action_timeout_ms=20_000, connect_timeout_ms=60_000
        )


@pytest.mark.slow
def test_rows_run_at_once_in_a_browser_that_stays(evals: Evals, chromium: Listening) -> None:
    """The browser is told with version and address, never with what lets anybody in."""
    evals.write_rows(*(row(f"r{number}") for number in range(3)))
    evals.write_config(browser={"type": "cdp", "url": f"{chromium.url}/?token=Sesame-open-42"}, lanes=2)
    result = evals.run("shop.eval.yaml")
    result.assert_outcomes(passed=3)
    manifest = (evals.run_folder() / "manifest.json").read_text()
    assert f"(cdp: {chromium.url})" in manifest
    assert "Sesame" not in manifest + result.stdout.str() + result.stderr.str()


def test_a_page_that_breaks_is_the_sites_here_too(
    evals: Evals, chromium: Listening, pages: PageServer
) -> None:
    """Reached by a click and by the agent's own address, in a browser that keeps pages it has left."""
    start = pages.page("/", '<a href="/boom">Order</a>')
    boom = pages.page("/boom", "busy", status=500)
    click, done = {"tool": "click", "target": "text=Order"}, {"tool": "done", "answer": "busy"}
    ways = {
        "click": ([click], "errored"),
        "back": ([click, {"tool": "go_back"}], "failed"),
        "own": ([{"tool": "navigate", "url": boom}], "failed"),
    }
    evals.write_rows(*(row(name, start_url=start, solution=[*way, done]) for name, (way, _) in ways.items()))
    evals.write_config(browser={"type": "cdp", "url": chromium.url})
    ran = evals.run()
    assert {one.query_id: str(one.verdict) for one in ran.attempts} == {
        name: verdict for name, (_, verdict) in ways.items()
    }


@pytest.mark.slow
def test_without_contexts_rows_run_one_by_one(evals: Evals, chromium: Listening) -> None:
    """The head of the run says so, and several processes are refused."""
    evals.write_rows(row("r0"), row("r1"))
    with relayed(chromium.port, refuses=NO_CONTEXTS) as relay:
        evals.write_config(browser={"type": "cdp", "url": relay.url}, lanes=2)
        result = evals.run("shop.eval.yaml")
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(
            [f"*note: the browser at {relay.url} gives attempts no context of their own*"]
        )
        refused = evals.run("shop.eval.yaml", "-n", "2")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "the browser takes 1 attempt at a time" in refused.stderr.str() + refused.stdout.str()


AGENT = """
import os, signal

async def solve(context):
    if context.task.query_id == "r0":
        os.killpg({group}, signal.SIGKILL)
        for _ in range(600):  # until a call tells that the browser has gone
            await context.tools.call("wait", {{"seconds": 0.1}})
    return "right"
"""


@pytest.mark.slow
def test_a_browser_that_goes_ends_the_run(evals: Evals) -> None:
    """The attempt is errored by the browser, the next one tries in vain to attach, and the run stops."""
    evals.write_rows(*(row(f"r{number}") for number in range(3)))
    with Kept() as port, listening(port=port.number) as browser:
        evals.write_config(
            agent={"type": "function", "function": "my_agent:solve"},
            browser={"type": "cdp", "url": browser.url},
        )
        Path(evals.path, "my_agent.py").write_text(AGENT.format(group=browser.group))
        result = evals.run("shop.eval.yaml")
    assert result.ret != pytest.ExitCode.OK
    result.assert_outcomes(errors=2)
    said = result.stdout.str()
    assert f"The connection to the browser at {browser.url} was lost." in said
    assert "cannot be reached: ConnectError" in said
    assert "1 not run" in said
