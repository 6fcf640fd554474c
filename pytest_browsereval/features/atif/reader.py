"""Reads documents of ATIF as attempts: those of other systems, and ours that come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.atif.log import LogReader, text_of, to_usage
from pytest_browsereval.features.atif.schema import NEWEST, Step, Trajectory
from pytest_browsereval.features.foreign_files import MOST_BYTES, read_as, read_value, wrong
from pytest_browsereval.features.foreign_record import OURS, read_record
from pytest_browsereval.model.display import natural
from pytest_browsereval.model.results import EvalWarning
from pytest_browsereval.model.tasks import RowMetadata, Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.foreign import Imported

_VERSION = re.compile(r"ATIF-v1\.(\d{1,3})")

_ELSEWHERE = re.compile(rb'"(?:trajectory_path|continued_trajectory_ref)"')
"""Keys that name another file."""

NO_QUERY = "(the trajectory has no instruction)"


def read_run(place: Path) -> Iterator[Imported]:
    """Yield the attempts of a document, or of all documents of a folder; other JSON files are left alone.

    Raises:
        UsageError: a file is missing or wrong; the message names it.
    """
    if place.is_file():
        yield _read(_parse(read_value(place), place), place, place.parent)
        return
    files = sorted(place.rglob("*.json"), key=lambda file: natural(file.relative_to(place).as_posix()))
    parts = set(_list_parts(files))
    for file in files:
        value = read_value(file)
        if file.resolve() not in parts and _is_document(value):
            yield _read(_parse(value, file), file, place)


def _is_document(value: Any) -> bool:
    known = value.get("schema_version") if isinstance(value, dict) else None
    return isinstance(known, str) and known.startswith("ATIF-")


def _list_parts(files: list[Path]) -> Iterator[Path]:
    """Yield the files that another document is continued in, or has the work of a sub-agent in."""
    for file in files:
        if file.stat().st_size > MOST_BYTES or not _ELSEWHERE.search(file.read_bytes()):
            continue
        value = read_value(file)
        if _is_document(value):
            for name in _list_names(_parse(value, file)):
                yield (file.parent / name).resolve()


def _list_names(document: Trajectory) -> Iterator[str]:
    if document.continued_trajectory_ref:
        yield document.continued_trajectory_ref
    for step in document.steps:
        for result in step.observation.results if step.observation else ():
            for one in result.subagent_trajectory_ref or ():
                if one.trajectory_path:
                    yield one.trajectory_path
    for part in document.subagent_trajectories or ():
        yield from _list_names(part)


def _parse(value: Any, file: Path) -> Trajectory:
    known = value.get("schema_version") if isinstance(value, dict) else None
    found = _VERSION.fullmatch(known) if isinstance(known, str) else None
    if found is None or int(found[1]) > NEWEST:
        what = f"is {known[:40]!r}" if isinstance(known, str) else "has no schema_version"
        raise wrong(file, f"{what}. ATIF-v1.0 to ATIF-v1.{NEWEST} are read.")
    return read_as(Trajectory, value, file)


def _read(document: Trajectory, file: Path, root: Path) -> Imported:
    given = (document.extra or {}).get("pictures")
    log = LogReader(file, root, given if isinstance(given, dict) else {})
    log.read(document)
    warnings = tuple(
        EvalWarning(source=ErrorSource.MESSAGE_LOGGING, message=text, timestamp="") for text in log.losses()
    )
    ours = (document.extra or {}).get(OURS)
    if ours is not None:
        try:
            record = read_record(ours)
        except ValueError as error:
            raise wrong(file, f"extra.{OURS}: {error}.") from None
        return Imported.from_record(record, file, log.messages, log.pictures, warnings)
    usage, cost = _read_usage(document)
    name = document.trajectory_id or PurePosixPath(file.relative_to(root)).with_suffix("").as_posix()
    agent = document.agent
    config: dict[str, Any] = {
        "type": agent.name,
        "version": agent.version,
        "model": agent.model_name,
        "system": log.system,
    }
    times = [step.timestamp for step in document.steps if log.check_time(step.timestamp)]
    return Imported(
        folder=file,
        task=Task(
            query_id=name,
            query=_find_query(document) or NO_QUERY,
            dataset="atif",
            metadata=RowMetadata(original_task_id=document.session_id or name),
        ),
        messages=log.messages,
        pictures=log.pictures,
        final_answer=log.last_words,
        started_at=(times[0] or "") if times else "",
        completed_at=(times[-1] or "") if times else "",
        agent_config={key: value for key, value in config.items() if value},
        usage=usage,
        cost_usd=cost,
        warnings=warnings,
    )


def _find_query(document: Trajectory) -> str:
    for step in document.steps:
        if step.source == "user" and (text := text_of(step.message)):
            return text
    return ""


def _read_usage(document: Trajectory) -> tuple[Usage, float | None]:
    """Return the tokens and the money of a foreign document: its totals, or else those of its steps."""
    steps = list(_list_steps(document))
    requests = sum(_count_calls(step) for step in steps)
    total = document.final_metrics
    if total is not None and total.total_prompt_tokens is not None:
        usage = Usage(
            input_tokens=total.total_prompt_tokens,
            output_tokens=total.total_completion_tokens or 0,
            cache_read_tokens=total.total_cached_tokens or 0,
            requests=max(requests, 1),
            cost_usd=total.total_cost_usd,
        )
        return usage, total.total_cost_usd
    summed = sum((to_usage(step.metrics) for step in steps if step.metrics), Usage())
    known = total.total_cost_usd if total else None
    return summed, summed.cost_usd if known is None else known


def _list_steps(document: Trajectory) -> Iterator[Step]:
    yield from (step for step in document.steps if not step.is_copied_context)
    for part in document.subagent_trajectories or ():
        yield from _list_steps(part)


def _count_calls(step: Step) -> int:
    known = step.llm_call_count
    return int(step.source == "agent") if known is None else known
