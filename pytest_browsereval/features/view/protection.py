"""What a page for sending may hold of protected rows: verdicts and figures, no text and no picture."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.export_record import withhold
from pytest_browsereval.features.shared.viewer.attempts import ShownAttempt
from pytest_browsereval.model.tasks import TASK_FILE
from pytest_browsereval.runs.folder import read_stored

WHY = "texts of a benchmark's protected rows must not be passed on"


def size_of(file: Path) -> int:
    """Return the size of a file in bytes; 0 for a link or where there is none."""
    try:
        return os.stat(file, follow_symlinks=False).st_size  # noqa: PTH116 a path follows links
    except OSError:
        return 0


def is_protected(attempt: ShownAttempt) -> bool | None:
    """Return whether answers of its row are never written in plain text; None where nobody knows yet."""
    if attempt.metadata is None:
        return None
    if (known := attempt.metadata.protected) is not None:
        return known
    folder = Path(attempt.folder)
    try:
        return not (folder / TASK_FILE).is_file() or read_stored(folder).task.protected
    except UsageError:  # damaged
        return True


def withhold_attempt(attempt: ShownAttempt) -> ShownAttempt:
    """Return an attempt without what its row, the agent, pages and graders said."""
    if attempt.metadata is None:
        return replace(attempt, text="")
    record = withhold(attempt.metadata)
    return replace(attempt, metadata=record, text=record.model_dump_json(by_alias=True), cause=None)


def withhold_details(attempt: ShownAttempt) -> list[object]:
    """Return the details of an attempt for its page: what it came to, and that the rest is left out."""
    size = size_of(Path(attempt.folder, "messages.jsonl"))
    note = f"Its row is protected: texts and pictures are left out, since {WHY}."
    return [withhold_attempt(attempt).text, "", [], [], size, attempt.problem, {"note": note}]


def withhold_reasons(rules: list[list[Any]] | None) -> list[list[Any]] | None:
    """Return rules of a gate as the page has them, without reasons of single rows, which quote answers."""
    return rules and [
        [name, word, message.partition(": ")[0] if name.startswith("must_pass[") else message, *more]
        for name, word, message, *more in rules
    ]
