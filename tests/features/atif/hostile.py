"""A run with hostile contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import (
    AssistantMessage,
    ErrorMessage,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
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
    store.save_record(record)
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
