"""Runs of other systems, written as those systems write them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

T = "2026-05-01T10:00:00.000Z"


def picture(shade: int = 0, kind: str = "PNG") -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (8, 6), (shade, 0, 0)).save(target, kind)
    return target.getvalue()


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, lines: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


GRADES = {
    "webvoyager_grader": {"score": 1, "pass": True, "reasoning": "All is there."},
    "agisdk_state_diff": {"score": 0, "pass": False, "reasoning": "No order.", "details": {"rows": 0}},
}


def browseros_task(run: Path, name: str = "Allrecipes--3", **metadata: Any) -> Path:
    """Write a task folder of BrowserOS, without messages."""
    folder = run / name
    given = {
        "query_id": name,
        "dataset": "webvoyager",
        "query": "Find a recipe.",
        "started_at": T,
        "completed_at": "2026-05-01T10:01:00.000Z",
        "total_duration_ms": 60000,
        "total_steps": 7,
        "termination_reason": "completed",
        "final_answer": "Vegetable lasagna",
        "errors": [],
        "warnings": [{"source": "mcp_tool", "message": "slow", "timestamp": T}],
        "device_pixel_ratio": 2,
        "agent_config": {"type": "single", "model": "kimi-k2", "apiKey": "sk-123456"},
        "grader_results": GRADES,
        "token_usage": {"input_tokens": 900, "output_tokens": 80, "cache_creation_tokens": 0},
        "task_metadata": {"website": "Allrecipes", "difficulty": "easy"},
    }
    write_json(folder / "metadata.json", {**given, **metadata})
    for number, kind in ((1, "PNG"), (3, "JPEG")):  # a failed capture left a gap, and a JPEG is called .png
        path = folder / "screenshots" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture(number, kind))
    return folder


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": T, **fields}


DESIGNED = (
    event("user", content="Find a recipe."),
    event("assistant", content="I search."),
    event("tool_call", tool="click", toolCallId="c1", params={"element": 4}),
    event("tool_result", toolCallId="c1", result=[{"text": "Clicked."}], isError=False, screenshot=1),
    event("delegation", instruction="Search.", executorId="e1", maxSteps=9),
    event("delegation_result", executorId="e1", summary="Found.", status="done", stepsUsed=2),
    event("error", content="No more tokens.", errorCode="429"),
)

STREAM = (
    event("user", content="Find a recipe."),
    event("start"),
    event(
        "tool-input-available", toolCallId="delegate-1", toolName="delegate", input={"instruction": "Look."}
    ),
    event("tool-input-start", toolCallId="a", toolName="navigate"),
    event(
        "tool-input-available", toolCallId="a", toolName="navigate", input={"page": 1, "url": "http://r.test"}
    ),
    event("tool-input-available", toolCallId="b", toolName="act", input="not a block"),
    event("tool-output-available", toolCallId="a", output={"content": [], "isError": False}, screenshot=1),
    event("tool-output-error", toolCallId="b", errorText="no such ref", screenshot=3),
    event("text-start", id="t"),
    event("text-delta", id="t", delta="Half "),
    event("text-delta", id="t", delta="done."),
    event("text-end", id="t"),
    event("source-url", sourceId="s", url="http://r.test"),
    event(
        "tool-output-available",
        toolCallId="delegate-1",
        output={"observation": "Seen.", "status": "done", "url": "http://r.test/1", "actionsPerformed": 2},
    ),
    event("reasoning-start", id="r"),
    event("reasoning-delta", id="r", delta="It is right."),
    event("error", errorText="overloaded"),
    event("finish", finishReason="stop"),
)


def observed(text: str) -> dict[str, Any]:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}}
    return {"role": "user", "content": [{"type": "text", "text": text}, image]}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def webvoyager_task(run: Path, query_id: str = "Amazon--0", *, answer: str | None = "A green one.") -> Path:
    """Write a task folder of WebVoyager; turn 2 has a wrong form and no picture."""
    folder = run / f"task{query_id}"
    messages = [
        {"role": "system", "content": "You browse."},
        observed(
            "Now given a task: Search a controller.  Please interact with https://shop.test/ and get it."
        ),
        said("Thought: I type.\n\nAction: Type [2]; green controller"),
        observed("Observation: [3]: results"),
        said("I am lost."),
        {"role": "user", "content": "Format ERROR: Both 'Thought' and 'Action' should be included."},
        said("Thought: The first.\nAction: Scroll [WINDOW]; down"),
        observed("Observation: [5]: green"),
        said("Thought: Found.\nAction: " + (f"ANSWER; [{answer}]" if answer else "GoBack")),
    ]
    write_json(folder / "interact_messages.json", messages)
    for number in (1, 2, 4):
        (folder / f"screenshot{number}.png").write_bytes(picture(number))
    (folder / "screenshot1_no_box.png").write_bytes(picture(9))
    (folder / "agent.log").write_text("started\n")
    return folder
