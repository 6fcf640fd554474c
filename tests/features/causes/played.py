"""Attempts that were never made, with the steps that they took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.folder import StoredTask
from tests.recorded import FAILED, attempt, write_grades

BASE = "http://127.0.0.1:8123"
TIME = "2026-01-01T00:00:00.000Z"
Step = Mapping[str, Any]


def step(
    tool: str,
    *,
    page: str = "",
    error: str = "",
    says: str = "Done.",
    holds: str | None = None,
    **arguments: Any,
) -> Step:
    """Return a step; ``page`` is the path of the page after it, ``holds`` the argument that is its value."""
    return {"tool": tool, "arguments": arguments, "page": page, "error": error, "says": says, "holds": holds}


def click(name: str, role: str = "button", **more: Any) -> Step:
    return step("click", target=f'role={role}[name="{name}"]', **more)


def fill(name: str, text: str, **more: Any) -> Step:
    return step("fill", target=f"label={name}", text=text, **more)


def done(answer: str = "Done") -> Step:
    return step("done", answer=answer)


def solution_of(*steps: Step) -> list[dict[str, Any]]:
    """Return steps as a row has them."""
    return [{"tool": one["tool"], **one["arguments"]} for one in steps]


def write_attempt(
    run: Path,
    steps: Sequence[Step],
    data: TaskMetadata | None = None,
    *,
    solution: Sequence[Step] = (),
    **task: Any,
) -> tuple[TaskMetadata, Path]:
    """Leave an attempt in a run's folder; return its record and its folder."""
    data = data or attempt("buy", FAILED)
    answers = [one["arguments"]["answer"] for one in steps if one["tool"] == "done"]
    known = {"start_url": f"{BASE}/", "total_steps": len(steps), "final_answer": (answers or [None])[-1]}
    data = data.model_copy(update=known)
    folder = run / "tasks" / data.query_id / data.variant / str(data.trial) / f"attempt-{data.attempt}"
    folder.mkdir(parents=True)
    row = Task(query_id=data.query_id, query=data.query, solution=solution_of(*solution), **task)
    stored = StoredTask(
        task=row, graders=({"type": "page_state", "name": "answer"},), site_urls={"shop": BASE}
    )
    (folder / "task.json").write_text(stored.model_dump_json())
    (folder / "messages.jsonl").write_text("".join(_lines(steps)))
    RunStore(run).save_record(data)
    write_grades(folder, data)
    return data, folder


def _lines(steps: Sequence[Step]) -> list[str]:
    lines, page = [], "/"
    for number, one in enumerate(steps):
        page = one["page"] or page
        call_id = f"call-{number}"
        call = ToolCallMessage(
            tool=one["tool"],
            tool_call_id=call_id,
            params=one["arguments"],
            holds_value=one["holds"],
            timestamp=TIME,
        )
        output = {"ok": not one["error"], "output": one["error"] or one["says"]}
        result = ToolResultMessage(
            tool_call_id=call_id,
            result=output,
            is_error=bool(one["error"]),
            url=BASE + page,
            timestamp=TIME,
            hit=one.get("hit"),
            status=one.get("status"),
        )
        lines += [f"{message.model_dump_json(by_alias=True)}\n" for message in (call, result)]
    return lines


def write_manifest(run: Path, **manifest: Any) -> None:
    """Make the folder that of a run of a config."""
    run.mkdir(parents=True, exist_ok=True)
    (run / "manifest.json").write_text(json.dumps({"name": "shop", "config_file": "shop.yaml", **manifest}))
