"""A desk to try agents at: a window of paper and two tools, or a real browser with all of them."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from PIL import Image
from pydantic import Field

from pytest_browsereval.agents.base import AgentConfig, AgentContext
from pytest_browsereval.browsers.base import PictureFormat, Tab, Window
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.single_agent.agent import SingleAgent, SingleConfig
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.retries import RetryPolicy
from pytest_browsereval.model.messages import AssistantMessage, ToolCallMessage
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.testing import ScriptedModel
from pytest_browsereval.tools.base import Tool, ToolContext, ToolError, ToolResult, tool
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit


class PaperWindow(Window):
    """A page that is a text: clicking writes a line below it."""

    def __init__(self, text: str = "button Buy") -> None:
        self.window_id = 7
        self.text = text
        self.dies_at: str | None = None
        """The target that ends the browser when it is clicked."""
        self.pictures = 0

    @property
    def tab_id(self) -> int:
        return 1

    @property
    def url(self) -> str:
        return "http://shop.test/"

    @property
    def dead(self) -> str | None:
        return None

    @property
    def viewport(self) -> tuple[int, int] | None:
        return (640, 480)

    async def tabs(self) -> list[Tab]:
        return [Tab(1, self.url, "The shop", is_current=True)]

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        del quality
        self.pictures += 1
        target = io.BytesIO()
        Image.new("RGB", (8, 8), (self.pictures, 0, 0)).save(target, picture)
        return target.getvalue()

    async def close(self) -> None:
        pass


@tool(takes_picture=False)
async def snapshot(window: PaperWindow) -> str:
    """Return the page."""
    return window.text


@tool
async def click(window: PaperWindow, target: Annotated[str, Field(description="What to click.")]) -> str:
    """Click something."""
    if target == window.dies_at:
        raise Fault(ErrorSource.BROWSER, "the browser died")
    if target not in window.text:
        raise ToolError(f"there is no {target}")
    window.text += f"\nclicked {target}"
    return f"Clicked {target}."


@tool
async def wait(window: PaperWindow, seconds: float) -> str:
    """Wait."""
    del window
    await asyncio.sleep(seconds)
    return "Waited."


@tool(takes_picture=False)
async def done(window: PaperWindow, answer: str) -> str:
    """End the task."""
    del window
    return answer


PAPER_TOOLS = (snapshot, click, wait, done)
TOOLS_BY_NAME = {each.name: each for each in PAPER_TOOLS}


@dataclass
class PaperRunner:
    window: PaperWindow

    async def __call__(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(ok=True, output=await tool.body(self.window, **arguments))


@dataclass
class Desk:
    """Makes the context of an attempt."""

    folder: Path
    base_dir: Path
    window: PaperWindow = field(default_factory=PaperWindow)
    tools: Sequence[Tool] = PAPER_TOOLS
    max_steps: int = 100
    screenshots: Literal["after", "both", "final", "off"] = "off"
    limits: dict[str, Any] = field(default_factory=dict)
    kits: tuple[Toolkit, ...] = ()
    capture: CaptureContext = field(init=False)

    def context(self, config: AgentConfig, **task: Any) -> AgentContext:
        if hasattr(self, "capture"):
            self.capture.close()
        self.capture = CaptureContext(
            CaptureContextConfig(folder=self.folder, screenshots=self.screenshots, **self.limits), self.window
        )
        row = Task.model_validate(
            {"query_id": "row", "query": "Buy it.", "start_url": "http://shop.test/", **task}
        )
        toolbox = Toolbox(
            self.tools,
            PaperRunner(self.window),
            self.capture,
            context=ToolContext(row, self.folder, self.base_dir),
            max_steps=self.max_steps,
        )
        return AgentContext(
            config=config,
            task=row,
            window=self.window,
            tools=toolbox,
            capture=self.capture,
            output_dir=self.folder.parent,
            task_output_dir=self.folder,
            base_dir=self.base_dir,
            kits=self.kits,
        )

    @property
    def called(self) -> list[str]:
        """The tools that were called, in order."""
        return [m.tool for m in self.capture.messages.messages if isinstance(m, ToolCallMessage)]

    @property
    def said(self) -> list[str]:
        """What the model said, in order."""
        return [m.content for m in self.capture.messages.messages if isinstance(m, AssistantMessage)]

    @property
    def warned(self) -> str:
        """All warnings."""
        return "; ".join(warning.message for warning in self.capture.warnings)


MakeDesk = Callable[..., Desk]


async def _no_wait(seconds: float) -> None:
    del seconds


def solve(desk: Desk, model: ScriptedModel, **fields: Any) -> str | None:
    """Return the answer of a single agent with a scripted model, whose retries do not wait."""
    config = SingleConfig.model_validate({"model": "scripted", "base_url": model.base_url, **fields})

    async def course() -> str | None:
        client = ChatClient(config, RetryPolicy(max_tries=config.max_tries, sleep=_no_wait))
        try:
            return (await SingleAgent(desk.context(config), config, client).execute()).final_answer
        finally:
            await client.close()

    return asyncio.run(course())
