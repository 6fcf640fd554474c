"""A run of ours in Online-Mind2Web's form, so that other judges can read it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import ErrorSource, UsageError
from pytest_browsereval.exchange.files import wrong
from pytest_browsereval.exchange.online_mind2web import RESULT, TRAJECTORY
from pytest_browsereval.graders.judging.pictures import number_of, pictures_of
from pytest_browsereval.graders.judging.steps import Step, messages_of, steps_of
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.store import RunStore, check_new, read_metadata

ENDS = "done"
"""The tool that gives the answer: its judges are to see actions only, never what the agent says of them."""


@dataclass(frozen=True)
class Exported:
    """What was written, and which attempts were not."""

    folders: tuple[Path, ...]
    left_out: tuple[str, ...]
    """Ids with the reason."""


def write_run(store: RunStore, target: Path) -> Exported:
    """Write the last attempt of each trial as a folder; each agent's and each repetition's apart.

    Attempts that errored before there was anything to grade are left out and told.

    Args:
        store: the run.
        target: the folder, which is not there yet; for a run with several agents or repetitions it gets a
            folder for each, since the form has one attempt for each task.

    Raises:
        UsageError: the folder is there already, or nothing is to be written.
        OSError: it cannot be written.
    """
    check_new(target)
    trials = store.last_digests()
    if not trials:
        raise UsageError(f"{store.root} has no finished attempt.")
    kinds = {(data.variant, data.trial) for _, data in trials}
    written, left_out = [], []
    for folder, data in trials:
        if data.verdict is Verdict.ERRORED and data.error_source is not ErrorSource.GRADER:
            left_out.append(f"{data.query_id}: errored ({data.error_source}): {data.reason}")
            continue
        place = target / f"{safe_folder(data.variant)}-{data.trial}" if len(kinds) > 1 else target
        written.append(_write(folder, read_metadata(folder), place / safe_folder(data.query_id)))
    return Exported(tuple(written), tuple(left_out))


def _write(folder: Path, data: TaskMetadata, target: Path) -> Path:
    (target / TRAJECTORY).mkdir(parents=True)
    names = []
    for picture in pictures_of(folder):
        if picture.is_symlink():
            raise wrong(picture, "is a link, which could lead anywhere. Put the picture in its place.")
        names.append(f"{number_of(picture):04d}{picture.suffix}")  # they sort by the first number of a name
        shutil.copyfile(picture, target / TRAJECTORY / names[-1])
    steps = [step for step in steps_of(messages_of(folder)) if step.tool != ENDS]
    text = json.dumps(_result(data, steps, names), ensure_ascii=False, indent=1)
    (target / RESULT).write_text(text + "\n", encoding="utf-8")
    return target


def _result(data: TaskMetadata, steps: Sequence[Step], names: list[str]) -> dict[str, Any]:
    return {
        "task_id": data.query_id,
        "task": data.query,
        "final_result_response": data.final_answer,
        "action_history": [step.line(1000).partition(". ")[2] for step in steps],
        "thoughts": [step.thought for step in steps],
        "image_names": names,
        "start_url": data.start_url,
    }
