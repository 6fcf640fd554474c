"""What models and tools send without end: cut where the limit is, or refused."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_browsereval.capture.sizes import MAX_MESSAGE_BYTES
from pytest_browsereval.testing import ScriptedModel, says
from tests.hooks.launched import FUNCTION, files_with
from tests.hooks.small_evals import Evals, row, single_agent

END = "the-end-of-it"
LONG = "right " + "x" * (MAX_MESSAGE_BYTES + 1_000_000) + END


def attempt_of(evals: Evals, name: str = "a") -> Path:
    (folder,) = evals.run_folder().glob(f"tasks/{name}/*/*/attempt-1")
    return folder


def test_an_answer_that_is_too_long_is_cut(evals: Evals) -> None:
    """Log and metadata have its beginning, and how much was cut."""
    evals.write_rows(row("a", graders=[{"type": "answer", "match": "includes"}], answer="right"))
    with ScriptedModel([says(LONG)]) as server:
        evals.write_config(agent=single_agent(server.base_url))
        result = evals.run("shop.eval.yaml")
    assert result.ret == 0, result.stdout.str()
    folder = attempt_of(evals)
    assert files_with(folder, END) == []
    metadata = json.loads((folder / "metadata.json").read_text())
    assert len(metadata["final_answer"].encode()) <= MAX_MESSAGE_BYTES
    assert metadata["final_answer"].endswith(f"of {len(LONG)} bytes]")
    (warning,) = (one["message"] for one in metadata["warnings"] if "cut at" in one["message"])
    assert f"limits.max_message_bytes is {MAX_MESSAGE_BYTES}" in warning


TOOLS = """
from typing import Literal
from pytest_browsereval import Toolkit, ToolkitConfig, tool

@tool
async def flood(window, text: str = "") -> str:
    \"\"\"Print much.

    Args:
        text: what comes first.
    \"\"\"
    return text + "y" * 30_000_000

class FloodConfig(ToolkitConfig):
    type: Literal["acme/flood"] = "acme/flood"

    def build(self):
        return Toolkit("acme/flood", "Flood", (flood,), needs_page=False)

def pytest_browsereval_register(registry):
    registry.register(FloodConfig)
"""
AGENT = """
async def solve(context):
    result = await context.tools.call("flood")
    (context.base_dir / "handed.txt").write_text(str(len(result.output)))
    refused = await context.tools.call("flood", {"text": "z" * 5_000})
    assert not refused.ok, refused.output
    return "right"
"""


def test_outputs_and_arguments_of_tools_are_limited(evals: Evals) -> None:
    """The agent gets what is recorded; arguments beyond the limit are refused."""
    evals.pytester.makeconftest(TOOLS)
    (evals.path / "my_agent.py").write_text(AGENT)
    result = evals.play(
        [row("a")], agent=FUNCTION, toolkits=[{"type": "acme/flood"}], limits={"max_message_bytes": 4096}
    )
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    folder = attempt_of(evals)
    assert 3000 < int((evals.path / "handed.txt").read_text()) <= 4096
    assert (folder / "messages.jsonl").stat().st_size < 16_000
    assert "The arguments are too large" in (folder / "messages.jsonl").read_text()
