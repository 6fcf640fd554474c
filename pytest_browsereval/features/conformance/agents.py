"""The conformance suite for agents: what every attempt relies on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.agents.base import AgentConfig, AgentContext
from pytest_browsereval.browsers.base import Browser
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.errors import Fault, LimitReached
from pytest_browsereval.features.conformance.browsers import Conformance, Kept
from pytest_browsereval.features.conformance.site import ConformanceSite
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage, read_message
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.tools.runner import WindowToolRunner
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkits import CATALOG, resolve_tools

BROWSER = PlaywrightBrowserConfig()
# The task is small; the limit is for machines under load.
EXECUTE_S = 60.0
# Between the cancellation and the end of the agent: the machine may be busy.
STOP_S = 30.0

LOOK_S = 0.1


@dataclass(frozen=True)
class Attempted:
    """What an attempt left behind."""

    result: AgentResult | None
    ending: Exception | None
    """The fault or limit that ended it."""
    limit: LimitReached | None
    """The limit that was reached, whether the agent has let it through or not."""


@dataclass(frozen=True)
class AttemptMaker:
    """Makes attempts of one agent at one row, each in a fresh window."""

    kept: Kept
    config: AgentConfig
    task: Task
    folder: Path
    base_dir: Path

    @asynccontextmanager
    async def context(
        self, browser: Browser, max_steps: int = 30, **limits: Any
    ) -> AsyncIterator[AgentContext]:
        """Open a window at the start page and yield all that an agent is built with.

        Args:
            browser: opens the window.
            max_steps: of the agent.
            limits: of what it spends, ``max_tokens`` or ``max_cost_usd``.
        """
        config, task = self.config, self.task
        manager = WindowManager(browser)
        window = await manager.create_window("row", task.start_url, wants_cdp=config.needs().cdp)
        attempt = self.folder / "attempt"
        attempt.mkdir(parents=True)
        redact = Redactor(config.secrets()).redact
        capture = CaptureContext(CaptureContextConfig(attempt, redact=redact, **limits), window)
        try:
            tools = resolve_tools({})
            config.check(task, {tool.name: tool for tool in tools})
            yield AgentContext(
                config=config,
                task=task,
                window=window,
                tools=Toolbox(tools, WindowToolRunner(window), capture, max_steps=max_steps),
                capture=capture,
                output_dir=self.folder,
                task_output_dir=attempt,
                base_dir=self.base_dir,
                kits=tuple(CATALOG.values()),
            )
        finally:
            capture.close()
            await manager.close_all()
            # A client is bound to its loop, and the next test may have another one.
            await close_clients()

    def make(self, **limits: Any) -> Attempted:
        """Make one attempt; the limits are those of ``context``."""

        async def work(browser: Browser) -> Attempted:
            async with self.context(browser, **limits) as context:
                result, ending = await _execute(context)
                return Attempted(result, ending, context.capture.limits.reached)

        return self.kept.run(BROWSER, work)


class AgentConformance(Conformance):
    """Derive a test class from it, give it a ``config``, and pytest runs the tests.

    The tests of the class share a real browser. Each makes one attempt, at a page with a button and a link;
    the agent has to end within 60 s. Override ``task`` if it needs more than a start page::

        class TestAcmeAgent(AgentConformance):
            @pytest.fixture
            def config(self, model):  # a ScriptedModel of yours, for example
                return AcmeAgentConfig(model="scripted", base_url=model.base_url)
    """

    @pytest.fixture
    def task(self, site: ConformanceSite) -> Task:
        """Return the row."""
        return Task(query_id="conformance", query="Click the button.", start_url=f"{site.url}/")

    @pytest.fixture
    def base_dir(self, tmp_path: Path) -> Path:
        """Return the folder that paths in the block are relative to."""
        return tmp_path

    @pytest.fixture
    def maker(
        self, kept: Kept, config: AgentConfig, task: Task, tmp_path: Path, base_dir: Path
    ) -> AttemptMaker:
        """Return what makes attempts of the agent."""
        return AttemptMaker(kept, config, task, tmp_path, base_dir)

    def test_its_config_is_a_member(self, config: AgentConfig, base_dir: Path) -> None:
        """The class names its type, has a label, and shows no secret in either its JSON or its label."""
        assert config.family == "agent"
        assert config.type == type(config).type_name()
        assert config.label().strip()
        config.preflight(base_dir)
        for secret in config.secrets():
            assert secret not in config.model_dump_json(), "a secret is in the block's JSON: use SecretStr"
            assert secret not in config.label()

    def test_it_ends_with_a_result(self, maker: AttemptMaker) -> None:
        """An attempt ends by itself with an answer or None, or by a limit; never by another exception."""
        attempted = maker.make()
        assert attempted.ending is None or isinstance(attempted.ending, LimitReached)
        if attempted.result is not None:
            assert isinstance(attempted.result, AgentResult)
            assert attempted.result.final_answer is None or isinstance(attempted.result.final_answer, str)

    def test_its_log_can_be_read(self, maker: AttemptMaker) -> None:
        """Each line is a message, each result belongs to a call, and what nests lies in a span."""
        maker.make()
        lines = (maker.folder / "attempt" / "messages.jsonl").read_text(encoding="utf-8").splitlines()
        messages = [read_message(line) for line in lines]
        calls = [m.tool_call_id for m in messages if isinstance(m, ToolCallMessage)]
        results = [m.tool_call_id for m in messages if isinstance(m, ToolResultMessage)]
        assert len(calls) == len(set(calls)), "two calls share an id"
        assert sorted(results) == sorted(calls), "a call has no result, or a result no call"
        spans = {m.span_id for m in messages}
        assert all(m.parent_id in spans for m in messages if m.parent_id is not None)

    def test_it_lets_a_limit_through(self, maker: AttemptMaker) -> None:
        """With no step, no token and no money left, ``LimitReached`` ends ``execute``: it is not caught."""
        none_left: dict[str, dict[str, Any]] = {
            "steps": {"max_steps": 0},
            "tokens": {"max_tokens": 1},
            "money": {"max_cost_usd": 1e-9},
        }
        for name, limits in none_left.items():
            attempted = replace(maker, folder=maker.folder / name).make(**limits)
            assert not isinstance(attempted.ending, Fault)
            if attempted.limit is not None:
                caught = f"LimitReached was caught ({attempted.limit}). Do not catch it"
                assert isinstance(attempted.ending, LimitReached), caught

    def test_it_can_be_cancelled(self, maker: AttemptMaker) -> None:
        """Cancelled while it works, it ends soon, gives no answer and leaves no task of its own running."""

        async def work(browser: Browser) -> None:
            async with maker.context(browser) as context:
                before = asyncio.all_tasks()
                execution = asyncio.ensure_future(maker.config.build(context).execute())
                await asyncio.sleep(0.05)
                was_done = not execution.cancel()
                await asyncio.wait({execution}, timeout=STOP_S)
                assert execution.done(), f"still running {STOP_S:g} s after it was cancelled"
                if not execution.cancelled() and execution.exception() is None:
                    assert was_done, (
                        "CancelledError was caught, and an answer then does not count. Do not catch it"
                    )
                for _ in range(round(STOP_S / LOOK_S)):
                    await asyncio.sleep(LOOK_S)
                    left = [each for each in asyncio.all_tasks() - before if _is_of(each, type(maker.config))]
                    if not left:
                        break
                assert not left, f"left running: {left}"

        maker.kept.run(BROWSER, work)

    def test_it_notices_that_the_browser_died(self, maker: AttemptMaker) -> None:
        """In a window whose browser has gone, the attempt ends; it does not work on for ever."""

        async def work(browser: Browser) -> None:
            async with maker.context(browser) as context:
                assert isinstance(context.window, PlaywrightWindow)
                await context.window.context.close()  # past the window, as a browser that dies does
                await _execute(context)

        maker.kept.run(BROWSER, work)


async def _execute(context: AgentContext) -> tuple[AgentResult | None, Exception | None]:
    """Return the result, or the fault or limit that ended the attempt.

    Raises:
        TimeoutError: it did not end in time.
    """
    try:
        async with asyncio.timeout(EXECUTE_S):
            return await context.config.build(context).execute(), None
    except (Fault, LimitReached) as ending:
        return None, ending


def _is_of(task: asyncio.Task[object], member: type[AgentConfig]) -> bool:
    """Whether a task runs code of the member's own module."""
    code = getattr(task.get_coro(), "cr_code", None)
    module = member.__module__.replace(".", "/") + ".py"
    return code is not None and code.co_filename.replace("\\", "/").endswith(module)
