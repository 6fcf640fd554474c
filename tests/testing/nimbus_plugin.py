"""A plug-in with a member of each family, written from public names alone; `test_public_names.py` runs it."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import JsonValue

from pytest_browsereval import (
    AgentConfig,
    AgentContext,
    AgentEvaluator,
    AgentResult,
    Browser,
    BrowserConfig,
    Completion,
    DatasetConfig,
    DatasetError,
    ErrorSource,
    Fault,
    GateRule,
    GraderConfig,
    GraderResult,
    LLMConfig,
    Message,
    ModelNeed,
    Needs,
    PassRate,
    PictureFormat,
    Recorded,
    Registry,
    RowMetadata,
    RowRef,
    RuleResult,
    RunSummary,
    StoredAttempt,
    Tab,
    Task,
    Tool,
    ToolError,
    Toolkit,
    ToolkitConfig,
    ToolRequest,
    ToolResult,
    Verdict,
    Window,
    WindowRequest,
    chat_client,
    check_key,
    tool,
)

numbers = itertools.count(1)


class AskingConfig(AgentConfig):
    """An agent with a model: it lets the model call tools until there is an answer."""

    type: Literal["nimbus/asking"] = "nimbus/asking"
    llm: LLMConfig

    def preflight(self, base_dir: Path) -> None:
        del base_dir
        check_key(self.llm)

    def check(self, task: Task, tools: Mapping[str, Tool]) -> None:
        if "add" not in tools:
            raise ValueError(f"{task.query_id} needs the tool `add`. Write `toolkits: [nimbus/sums]`")

    def build(self, context: AgentContext) -> AgentEvaluator:
        return Asking(self.llm, context)


class Asking(AgentEvaluator):
    def __init__(self, llm: LLMConfig, context: AgentContext) -> None:
        self.client = chat_client(llm)
        self.context = context

    async def execute(self) -> AgentResult:
        functions = [
            {"name": one.name, "description": one.description, "parameters": one.schema}
            for one in self.context.tools.tools
        ]
        offered = [{"type": "function", "function": function} for function in functions]
        messages: list[dict[str, Any]] = [{"role": "user", "content": self.context.task.query}]
        while True:
            reply = await self.ask(messages, offered)
            if not reply.tool_calls:
                return AgentResult(final_answer=reply.text)
            messages.append(reply.message)
            for call in reply.tool_calls:
                result = await self.call(call)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.output})

    async def ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Completion:
        with self.context.capture.asking():
            reply = await self.client.complete(messages, tools=tools)
        self.context.capture.log_assistant(reply.text, usage=reply.usage)
        self.context.capture.spend(reply.usage)
        return reply

    async def call(self, call: ToolRequest) -> ToolResult:
        return await self.context.tools.call(call.name, call.arguments)


class FriendlyConfig(GraderConfig):
    """A grader that asks the judge of the run."""

    type: Literal["nimbus/friendly"] = "nimbus/friendly"

    def needs(self, task: Task) -> Needs:
        del task
        return Needs(models=(ModelNeed(self.label),))

    async def grade(self, recorded: Recorded) -> GraderResult:
        judge = recorded.judge
        if judge is None:
            raise Fault(ErrorSource.GRADER, "there is no judge. Add a `judge` block to the config")
        question = f"Is this friendly? Say yes or no.\n{recorded.final_answer}"
        reply = await chat_client(judge).complete([{"role": "user", "content": question}], role="judge")
        verdict = Verdict.PASSED if reply.text == "yes" else Verdict.FAILED
        return GraderResult(grader=self.label, verdict=verdict, reasoning=reply.text, usage=reply.usage)


class TableConfig(DatasetConfig):
    """A dataset: a table with the columns `id`, `task` and `category`."""

    type: Literal["nimbus/table"] = "nimbus/table"

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        del ids
        path = self.file(base_dir)
        return [RowRef(row["id"], path, number + 2, number) for number, row in enumerate(read_table(path))]

    def read(self, ref: RowRef) -> Task:
        row = read_table(ref.path)[ref.offset]
        return Task(query_id=row["id"], query=row["task"], metadata=RowMetadata(category=row["category"]))


def read_table(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise DatasetError(f"{path}: {error}. Name a table.") from error


class VoidConfig(BrowserConfig):
    """A browser whose windows show nothing."""

    type: Literal["nimbus/void"] = "nimbus/void"
    has_page: ClassVar[bool] = False

    def build(self) -> Browser:
        return Void()


class Void(Browser):
    description = "void"

    async def start(self) -> None:
        pass

    async def open_window(self, request: WindowRequest) -> Window:
        window = VoidWindow()
        if request.opened is not None:
            await request.opened(window)
        return window

    async def close(self) -> None:
        pass


class VoidWindow(Window):
    tab_id = 1
    url = ""
    dead = None

    def __init__(self) -> None:
        self.window_id = next(numbers)

    async def tabs(self) -> list[Tab]:
        return [Tab(1, "", "", is_current=True)]

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        raise Fault(ErrorSource.SCREENSHOT, f"there is nothing to see, as {picture} or otherwise ({quality})")

    async def close(self) -> None:
        pass


@tool(takes_picture=False)
async def add(window: Window, one: int, other: int) -> str:
    """Add two numbers."""
    if not isinstance(window, VoidWindow):
        raise ToolError("this is not a void window")
    return str(one + other)


class SumsConfig(ToolkitConfig):
    """A toolkit with one tool."""

    type: Literal["nimbus/sums"] = "nimbus/sums"

    def build(self) -> Toolkit:
        return Toolkit(key=self.type, label="Sums", tools=(add,), needs_page=False)


class CheapRule(GateRule):
    """A rule of a gate."""

    type: Literal["nimbus/cheap"] = "nimbus/cheap"
    limits_failures: ClassVar[bool] = False
    most: int

    def check(self, trials: Sequence[StoredAttempt]) -> RuleResult:
        steps = sum(trial.total_steps for trial in trials)
        return RuleResult(self.type, is_met=steps <= self.most, message=f"{steps} steps")


def pytest_browsereval_register(registry: Registry) -> None:
    for member in (AskingConfig, FriendlyConfig, TableConfig, VoidConfig, SumsConfig, CheapRule):
        registry.register(member)


def describe_rate(rate: PassRate) -> str:
    return f"{rate.passed} of {rate.passed + rate.failed}"


lines: list[str] = []


def pytest_browsereval_message(node_id: str, message: Message) -> None:
    lines.append(f"{node_id} {message.type}")


def pytest_browsereval_run_summary(summary: RunSummary, run_folder: Path) -> None:
    rate = summary.rate
    figures: dict[str, JsonValue] = {
        "passed": [t.last.query_id for t in summary.trials if t.last.verdict is Verdict.PASSED],
        "rate": describe_rate(rate),
        "messages": list(lines),
    }
    (run_folder / "report.json").write_text(json.dumps(figures), encoding="utf-8")
