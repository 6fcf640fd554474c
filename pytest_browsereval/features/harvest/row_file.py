"""Harvested rows as a file of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.features.shared.proof import close_rows

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.features.harvest.search import Harvest


def make_rows(found: Harvest, config: EvalConfig, output: Path) -> str:
    """Return the lines of a file of rows, with their solutions.

    Rows whose files would be somewhere else from there are refused.

    Args:
        found: the rows.
        config: theirs.
        output: the file.
    """
    lines = dict[str, str]()
    for row in list(found.rows):
        home = row.dataset.file(config.base_dir).parent
        if row.task.files and home.resolve() != output.absolute().parent.resolve():
            found.rows.remove(row)
            found.refused[row.task.query_id] = f"its files are relative to {home}. Write the rows there"
            continue
        given = row.task.model_dump(mode="json", exclude_defaults=True)
        if row.task.files:
            given["files"] = [one.path for one in row.task.files]
        lines[row.task.query_id] = json.dumps(given, ensure_ascii=False)
    kept = close_rows(found.rows)
    for row in (row for row in found.rows if row not in kept):
        found.refused[row.task.query_id] = "it depends on a row that was not harvested"
    found.rows = kept
    return "".join(f"{lines[row.task.query_id]}\n" for row in kept)
