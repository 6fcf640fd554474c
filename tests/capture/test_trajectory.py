from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.model.tasks import TASK_FILE, RowMetadata, Task
from pytest_browsereval.run_files import write_whole


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """A write that fails leaves the old content and no temporary file."""
    path = tmp_path / "metadata.json"
    write_whole(path, "old")
    write_whole(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(OSError, match="missing"):
        write_whole(tmp_path / "missing" / "metadata.json", "x")
    with pytest.raises(ZeroDivisionError):
        write_whole(path, (str(1 // number) for number in (1, 0)))
    assert (path.read_text(), list(tmp_path.iterdir())) == ("new", [path])
    taken = tmp_path / "taken.json"
    (taken / "child").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        write_whole(taken, "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a file"):
        write_whole(tmp_path / "pipe", "x")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["metadata.json", "pipe", "taken.json"]


def test_nothing_that_judges_a_protected_task_is_saved(tmp_path: Path) -> None:
    """Wherever its row has it; of other tasks all is saved."""
    gold: Any = {"equals": "Quetzaltenango"}
    metadata = RowMetadata(
        additional={"answer": gold, "ground_truth": gold, "precomputed_rubric": gold, "topic": "towns"},
        source=gold,
    )
    task = Task(
        query_id="t",
        query="Which town?",
        answer=gold,
        rubric=gold,
        checks=(gold,),
        evals=(gold,),
        solution=(gold,),
        metadata=metadata,
    )
    TrajectorySaver(tmp_path).save_task(task, [], {}, {})
    assert (tmp_path / TASK_FILE).read_text().count("Quetzaltenango") == 9
    TrajectorySaver(tmp_path).save_task(task.model_copy(update={"protected": True}), [], {}, {})
    text = (tmp_path / TASK_FILE).read_text()
    assert "Quetzaltenango" not in text
    assert json.loads(text)["task"]["metadata"]["additional"] == {"topic": "towns"}
