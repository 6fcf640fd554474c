"""A shop without pages: its tool `buy` fails for what `broken.txt` lists, and its agent says `says.txt`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row

CONFTEST = """
import asyncio
import urllib.request
from typing import Literal
from pytest_browsereval import Toolkit, ToolContext, ToolError, ToolkitConfig, tool

def lines(folder, name):
    file = folder / name
    return file.read_text().split() if file.exists() else []

@tool(takes_picture=False)
async def buy(window, about: ToolContext, item: str) -> str:
    '''Buy something.'''
    with (about.base_dir / "played.txt").open("a") as file:
        file.write(about.task.query_id + chr(10))
    await asyncio.sleep(0.05 * len(lines(about.base_dir, "slow.txt")))
    broken = lines(about.base_dir, "broken.txt")
    once = about.base_dir / f"{item}.once"
    if "app" in about.site_urls:
        url = f"{about.site_urls['app']}/{item.strip('-')}"
        request = urllib.request.Request(url, method="DELETE" if item.startswith("-") else "POST")
        try:
            await asyncio.to_thread(lambda: urllib.request.urlopen(request).close())
        except OSError as error:
            raise ToolError(f"the basket says {error}")
    if item in broken or once.exists():
        once.unlink(missing_ok=True)
        raise ToolError(f'Nothing matches role=button[name="{item}"].')
    return f"bought {item}"

class Shop(ToolkitConfig):
    type: Literal["buys"] = "buys"

    def build(self):
        return Toolkit("buys", "Shop", (buy,), needs_page=False)

def pytest_browsereval_register(registry):
    registry.register(Shop)

def pytest_browsereval_grade(grader, recorded):
    from pytest_browsereval import GraderResult
    once = recorded.base_dir / "grades.once"
    is_once = recorded.final_answer == "right" and once.exists()
    if is_once:
        once.unlink()
    if is_once or "grades" in lines(recorded.base_dir, "broken.txt"):
        return GraderResult(grader=grader.label, verdict="failed", score=0, reasoning="there is no order")
"""
AGENT = """
def solve(context):
    own = context.base_dir / f"{context.task.query_id}.says.txt"
    file = own if own.exists() else context.base_dir / "says.txt"
    with (context.base_dir / "asked.txt").open("a") as asked:
        asked.write(context.task.query_id + chr(10))
    return file.read_text() if file.exists() else "wrong"
"""


def outcome(record: TaskMetadata) -> tuple[str, str]:
    """Return the verdict of an attempt, and what its known way came to."""
    return str(record.verdict), str(record.probe.outcome) if record.probe else ""


def order(query_id: str = "mug", items: Sequence[str] = ("Mug", "Cup"), **more: Any) -> dict[str, Any]:
    """Return a row whose solution buys things."""
    steps = [{"tool": "buy", "item": item} for item in items]
    return row(query_id, **{"solution": [*steps, {"tool": "done", "answer": "right"}], **more})


class Shop:
    """An eval of such rows, probed unless a test says otherwise."""

    def __init__(self, evals: Evals) -> None:
        self.evals = evals
        evals.pytester.makeconftest(CONFTEST)
        (evals.path / "clumsy.py").write_text(AGENT)

    def write(self, *rows: dict[str, Any], **keys: Any) -> Path:
        """Write rows and config."""
        agent = {"agent": {"type": "function", "function": "clumsy:solve"}} if "variants" not in keys else {}
        return self.evals.write(
            rows or (order(),), **{**agent, "toolkits": ["buys"], "probe": "failed", **keys}
        )

    def put(self, name: str, text: str) -> None:
        """Write a file that tool or agent look at."""
        (self.evals.path / name).write_text(text)

    def prove(self) -> None:
        """Have the scripted agent pass all rows."""
        assert self.evals.run("shop.eval.yaml", "--eval-agent=scripted").ret == 0
        (self.evals.path / "played.txt").unlink(missing_ok=True)

    def run(self, *args: str, broken: str | None = None) -> EvalRun:
        """Run the eval, some of the shop broken."""
        if broken is not None:
            self.put("broken.txt", broken)
        return self.evals.run("shop.eval.yaml", *args)

    @property
    def played(self) -> list[str]:
        """The rows of the steps that were taken."""
        file = self.evals.path / "played.txt"
        return file.read_text().split() if file.exists() else []
