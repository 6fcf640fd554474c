"""Run folders that nobody has run, and labels of people that nobody has asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import (
    AssistantMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from tests.recorded import ERRORED, PASSED, attempt


def grade(name: str, verdict: Verdict = PASSED, *, fingerprint: str = "", **more: Any) -> GraderResult:
    """Return a grade; errored ones have no score."""
    score = None if verdict is ERRORED else float(verdict is PASSED)
    given = {"reasoning": f"{name} says {verdict}", "fingerprint": fingerprint, **more}
    return GraderResult(grader=name, verdict=verdict, score=score, **given)


def graded(query_id: str, *grades: GraderResult, **more: Any) -> TaskMetadata:
    """Return an attempt with these grades; its verdict is that of the first one."""
    verdict = grades[0].verdict if grades else ERRORED
    given = {"protected": False, **more}
    return attempt(query_id, verdict, grader_results={one.grader: one for one in grades}, **given)


def write_run(root: Path, *attempts: TaskMetadata) -> RunStore:
    """Write attempts into a run folder."""
    store = RunStore(root)
    for data in attempts:
        folder = store.begin_attempt(TrialKey(data.query_id, data.variant, data.trial), "node")
        MessageLogger(folder.path).close()
        TrajectorySaver(folder.path).save_grades(data.grader_results)
        store.save_record(data)
        folder.finish()
    return store


def folder_of(store: RunStore, query_id: str, number: int = 1) -> Path:
    """Return the folder of an attempt of the first trial."""
    return store.trial_folder(TrialKey(query_id)) / f"attempt-{number}"


def write_course(folder: Path, *steps: tuple[str, dict[str, Any], str], task: Task | None = None) -> None:
    """Write into an attempt's folder what an agent did, its task, and pictures of all steps but ``done``."""
    (folder / "screenshots").mkdir()
    log = MessageLogger(folder)
    messages: list[Message] = [UserMessage(content="Do it.")]
    for number, (tool, params, output) in enumerate(steps, 1):
        result = {"ok": True, "output": output}
        messages += [
            AssistantMessage(content=f"I {tool} now."),
            ToolCallMessage(tool=tool, tool_call_id=str(number), params=params),
            ToolResultMessage(
                tool_call_id=str(number),
                result=result,
                is_error=output.startswith("Nothing"),
                screenshot=None if tool == "done" else number,
                url="http://shop.test/",
            ),
        ]
        if tool != "done":
            paint(folder / "screenshots" / f"{number:03}.png", f"{tool} {number}")
    for message in messages:
        log.log(message)
    log.close()
    if task is not None:
        TrajectorySaver(folder).save_task(task, [], {}, {})


def paint(file: Path, text: str) -> None:
    """Write a picture with a text on it."""
    picture = Image.new("RGB", (640, 360), (236, 240, 244))
    ImageDraw.Draw(picture).text((40, 160), text, fill=(20, 40, 60))
    picture.save(file)


def write_labels(file: Path, *labels: dict[str, Any]) -> Path:
    """Write labels as people hand them over."""
    file.write_text("".join(json.dumps(one) + "\n" for one in labels), encoding="utf-8")
    return file


def says(query_id: str, label: str | None, labeller: str = "", **more: Any) -> dict[str, Any]:
    """Return one person's label."""
    return {"query_id": query_id, "label": label, "labeller": labeller, **more}
