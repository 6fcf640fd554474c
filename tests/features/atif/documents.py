"""A run with hostile contents, and documents of ATIF that others might have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import (
    AssistantMessage,
    ErrorMessage,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.run.store import RunStore, TrialKey
from tests.features.interop.foreign import picture
from tests.recorded import attempt

HALF = "\ud83d"
"""Half of a character: no file can hold it."""

ANSI = "\x1b[31mred\x1b[0m \x00 \u2028 </script><script>alert(1)</script>"

LONG = "x" * 10_000_000

IDS = ("a/b", "../../x", "nul\x00", "ü:*?", "long" * 100)


def write_attempt(store: RunStore, query_id: str, text: str, params: dict[str, Any]) -> Path:
    """Write an attempt whose log, record and picture hold a text."""
    folder = store.begin_attempt(TrialKey(query_id), "n")
    log = MessageLogger(folder.path)
    log.log(UserMessage(content=text[:5000]))
    log.log(AssistantMessage(content=text[:5000]))
    for name in ("same", "same", text[:100]) if len(text) < 5000 else ("one",):  # an agent may give one twice
        log.log(ToolCallMessage(tool=text[:50] or "t", tool_call_id=name, params=params))
        log.log(
            ToolResultMessage(
                tool_call_id=name,
                result={"ok": True, "output": text},
                is_error=False,
                url=text[:5000],
                screenshot=1,
            )
        )
    log.log(ToolCallMessage(tool="cut", tool_call_id="cut", params={}))
    log.log(ErrorMessage(content=text[:5000], error_code=text[:50]))
    log.close()
    (folder.path / "screenshots").mkdir()
    (folder.path / "screenshots" / "001.png").write_bytes(picture())
    grade = GraderResult(grader="g", verdict=Verdict.FAILED, score=0, reasoning=text[:5000])
    record = attempt(
        query_id, Verdict.FAILED, final_answer=text, grader_results={"g": grade}, protected=False
    )
    TrajectorySaver(folder.path).save_metadata(record)
    folder.finish()
    return folder.path


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose ids, texts and numbers are what a reader may break at; do not change it."""
    root = tmp_path_factory.mktemp("hostile") / "run"
    store = RunStore(root)
    numbers = {"n": float("nan"), "i": float("inf"), "big": 10**40, "deep": [[[[{"a": None}]]]], HALF: HALF}
    for place, query_id in enumerate(IDS):
        write_attempt(store, query_id, (ANSI, ANSI + HALF, "", ANSI, LONG)[place], numbers)
    return root


def trajectory(**more: Any) -> dict[str, Any]:
    """Return a document of another system: a browser agent of two steps, by v1.8."""
    steps = [
        {"step_id": 1, "source": "system", "message": "You browse."},
        {"step_id": 2, "source": "user", "message": "Buy a mug.", "timestamp": "2026-05-01T10:00:00Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "I click.",
            "reasoning_content": "Hm.",
            "timestamp": "yesterday",
            "tool_calls": [{"tool_call_id": "1", "function_name": "click", "arguments": {"x": 1}}],
            "observation": {
                "results": [
                    {
                        "source_call_id": "1",
                        "content": [
                            {"type": "text", "text": "ok"},
                            {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}},
                            {"type": "audio", "source": {"media_type": "audio/wav", "path": "images/1.wav"}},
                        ],
                    }
                ]
            },
            "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 1, "cost_usd": 0.5},
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "Bought.",
            "tool_calls": [{"tool_call_id": "1", "function_name": "type", "arguments": {}}],
            "observation": {"results": [{"content": "typed"}, {"source_call_id": "1", "content": "again"}]},
        },
    ]
    return {
        "schema_version": "ATIF-v1.8",
        "session_id": "s",
        "agent": {"name": "theirs", "version": "3", "model_name": "m"},
        "steps": steps,
        **more,
    }
