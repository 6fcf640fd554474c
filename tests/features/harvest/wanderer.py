"""An agent that takes known ways as models do: by refs, with looks, detours and failures."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pytest_browsereval import AgentConfig, AgentContext, AgentEvaluator, AgentResult
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.datasets.jsonl import JsonLinesConfig
from pytest_browsereval.datasets.reader import index_rows, read_row
from pytest_browsereval.sites import fill
from pytest_browsereval.testing.evals import EvalRun
from pytest_browsereval.tools.targets import resolve
from tests.hooks.small_evals import Evals

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
SITES = ("shop", "targets", "office")
"""Of the quickstart: each way is of one."""
CONFTEST = """
from tests.features.harvest.wanderer import WandererConfig

def pytest_browsereval_register(registry):
    registry.register(WandererConfig)
"""


class WandererConfig(AgentConfig):
    """Its ways are the solutions of another file of rows."""

    type: Literal["wanderer"] = "wanderer"
    ways: Path

    def build(self, context: AgentContext) -> AgentEvaluator:
        return _Wanderer(context, self.ways)


class _Wanderer(AgentEvaluator):
    def __init__(self, context: AgentContext, ways: Path) -> None:
        self._context = context
        dataset = JsonLinesConfig(path=ways)
        [ref] = (one for one in index_rows(dataset, Path()) if one.query_id == context.task.query_id)
        row = read_row(dataset, ref)
        start, path = str(context.task.start_url), str(row.start_url).partition("}")[2]
        self._way = fill(row.solution, dict.fromkeys(SITES, start.removesuffix(path)))

    async def _call(self, name: str, **arguments: Any) -> str:
        return (await self._context.tools.call(name, arguments)).output

    async def execute(self) -> AgentResult:
        start = self._context.task.start_url or ""
        await self._call("snapshot")
        await self._call("click", target="e99999")
        await self._call("press", key="Enter")
        await self._call("navigate", url=f"{start}{'&' if '?' in start else '?'}again=1")
        await self._call("read_text")
        await self._call("navigate", url=start)
        await self._call("scroll", direction="down", amount=1)
        await self._call("scroll", direction="up", amount=1)
        for step in self._way:
            arguments = {key: value for key, value in step.items() if key != "tool"}
            if step["tool"] == "done":
                await self._call("snapshot")
                await self._call("read_text")
            named: dict[str, Any] = {
                key: await self._find_ref(arguments[key]) for key in ("target", "source") if key in arguments
            }
            await self._context.tools.call(str(step["tool"]), {**arguments, **named})
        return AgentResult(self._context.tools.answer)

    async def _find_ref(self, target: Any) -> str:
        """Return the ref of what a selector finds, once a snapshot has shown it."""
        window = self._context.window
        assert isinstance(window, PlaywrightWindow)
        shown = await self._call("snapshot")
        if window.dialog is not None:
            return str(target)
        found = resolve(window, target).first
        await found.wait_for(state="attached", timeout=5_000)
        part = await found.aria_snapshot(mode="ai", timeout=5_000)
        refs = re.findall(r"\[ref=(\w+)\]", part.splitlines()[0] if part else "")
        await window.page.aria_snapshot(mode="ai", timeout=5_000)
        return str(refs[0]) if refs and f"[ref={refs[0]}]" in shown else str(target)


def strip_solution(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it was before anybody had solved it."""
    return {key: value for key, value in row.items() if key != "solution"}


def strip_effects(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that does not look at side effects, for which pytest-playwright has no assertion."""
    kept = {key: value for key, value in row.items() if key != "effects"}
    return {**kept, "graders": [one for one in row["graders"] if one != "effects"]}


def wander_quickstart(evals: Evals, *, has_effects: bool = True) -> EvalRun:
    """Have the agent take its ways through a copy of the quickstart, whose rows have no solution there."""
    shutil.copytree(QUICKSTART, evals.path, dirs_exist_ok=True)
    ways = (evals.path / "tasks.jsonl").rename(evals.path / "ways.jsonl")
    rows = map(json.loads, ways.read_text().splitlines())
    rows = rows if has_effects else map(strip_effects, rows)
    evals.write_rows(*map(strip_solution, rows), name="tasks.jsonl")
    (evals.path / "conftest.py").write_text(CONFTEST)
    agent = json.dumps({"type": "wanderer", "ways": str(ways)})
    run = evals.run("--eval-config=eval.yaml", f"--eval-set=agent={agent}", "--eval-set=limits.max_steps=80")
    run.assert_outcomes(passed=50)
    return run
