"""Makes a run folder of attempts of another system."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.features.interop.files import picture_suffix, wrong
from pytest_browsereval.features.shared.new_run import make_run
from pytest_browsereval.model.messages import SCHEMA_VERSION, ToolCallMessage, now
from pytest_browsereval.model.results import TaskMetadata, make_metadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.run.imports import Imported
from pytest_browsereval.run.store import RunStore

SAME = (
    *("started_at", "completed_at", "total_duration_ms", "termination_reason", "final_answer"),
    *("errors", "warnings", "usage", "cost_usd"),
)
"""What an attempt and its record call alike."""


def write_run(
    attempts: Iterable[Imported], target: Path, kind: str, source: Path
) -> tuple[RunStore, list[str]]:
    """Make a run folder of foreign attempts; it is there as a whole or not at all.

    Returns its store, and what of the attempts could not be taken over.

    Args:
        attempts: one for each task, or the tries of one in their order; each is written before the next is
            read.
        target: the run folder, which is not there yet.
        kind: which system's they are.
        source: the folder or file that they are read from.

    Raises:
        UsageError: two attempts have one id, the folder is there already, or a picture is damaged.
        OSError: it cannot be written.
    """
    seen: dict[tuple[TrialKey, int], Path] = {}
    notes: list[str] = []
    started_at: str | None = None
    with make_run(target, "import") as store:
        for attempt in attempts:
            # Not by its folder: a format may read all attempts of one.
            if (key := (attempt.key, attempt.number)) in seen:
                message = f"has the id {attempt.task.query_id!r}, and so has {seen[key]}. Take one out."
                raise wrong(attempt.folder, message)
            seen[key] = attempt.folder
            _write(attempt, store)
            notes += (f"note: {attempt.task.query_id}: {one.message}" for one in attempt.warnings)
            started_at = min(filter(None, (started_at, attempt.started_at)), default=None)
        store.write_manifest(
            {
                "schema_version": SCHEMA_VERSION,
                "started_at": started_at,
                "name": target.name,
                "imported_from": {"kind": kind, "folder": source.resolve().name, "imported_at": now()},
                "packages": {"pytest-browsereval": version("pytest-browsereval")},
            }
        )
        # No process of this run was ever in flight.
        shutil.rmtree(store.root / "in-flight", ignore_errors=True)
    return RunStore(target, worker="import"), notes


def _write(attempt: Imported, store: RunStore) -> None:
    task = attempt.task
    mark = "" if attempt.key == TrialKey(task.query_id) else f"[{attempt.variant}-{attempt.trial}]"
    node_id = f"imported::{safe_id(task.query_id)}{mark}"
    folder = store.begin_attempt(attempt.key, node_id)
    saver = TrajectorySaver(folder.path)
    screenshots = folder.path / "screenshots"
    for number, path in attempt.pictures.items():
        if number < 1:
            raise wrong(path, "has the number 0: pictures are numbered from 1.")
        screenshots.mkdir(exist_ok=True)
        shutil.copyfile(path, screenshots / f"{number:03d}.{picture_suffix(path)}", follow_symlinks=False)
    with closing(MessageLogger(folder.path)) as log:
        for message in attempt.messages:
            log.log(message)
    # Before the record: an attempt with a line is a finished one to every reader.
    saver.save_task(task, (), {}, {})
    if attempt.grades:
        saver.save_grades(attempt.grades)
    store.save_record(_make_record(attempt, node_id, folder.number))
    folder.finish()


def _make_record(attempt: Imported, node_id: str, number: int) -> TaskMetadata:
    verdict, source, reason = attempt.verdict
    return make_metadata(
        attempt.task,
        attempt.key,
        node_id,
        row_hash=attempt.task.content_hash(),
        attempt=number,
        start_url=attempt.task.start_url,
        agent_duration_ms=None,
        total_steps=sum(isinstance(message, ToolCallMessage) for message in attempt.messages),
        screenshot_count=len(attempt.pictures),
        agent_config=redact_config(dict(attempt.agent_config)),
        grader_results=dict(attempt.grades),
        verdict=verdict,
        error_source=source,
        reason=reason,
        **{name: getattr(attempt, name) for name in SAME},
    )


def with_rows(attempts: Iterable[Imported], rows: Mapping[str, Task]) -> Iterator[Imported]:
    """Yield the attempts with their rows: a row knows more of its task than a record.

    Args:
        attempts: as they were read.
        rows: by their ids.

    Raises:
        UsageError: an attempt has no row, or another instruction than its row.
    """
    for attempt in attempts:
        row = rows.get(attempt.task.query_id)
        if row is None:
            raise wrong(attempt.folder, f"no row has the id {attempt.task.query_id!r}.")
        # Blanks and punctuation may differ: some systems normalise them.
        if _words(row.query) != _words(attempt.task.query):
            texts = f"{attempt.task.query[:80]!r} is not {row.query[:80]!r}"
            raise wrong(attempt.folder, f"its instruction is not that of the row {row.query_id!r}: {texts}.")
        yield replace(attempt, task=row)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
