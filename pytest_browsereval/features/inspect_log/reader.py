"""Reads logs of Inspect as attempts: those of browser tasks of others, and ours that come back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from pytest_browsereval.errors import ErrorSource, TerminationReason, UsageError, describe_error
from pytest_browsereval.features.foreign_files import MOST_BYTES, wrong
from pytest_browsereval.features.foreign_record import OURS, read_record
from pytest_browsereval.features.inspect_log.events import EventReader
from pytest_browsereval.features.inspect_log.messages import ChatReader
from pytest_browsereval.features.inspect_log.package import load_api
from pytest_browsereval.features.inspect_log.pictures import Pictures
from pytest_browsereval.graders.verdicts import PassWhen, Primary
from pytest_browsereval.model.display import natural
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.results import EvalWarning, TaskError
from pytest_browsereval.model.tasks import RowMetadata, Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.foreign import Imported

SUFFIXES = (".eval", ".json")

VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Letters that scorers give: correct, incorrect, partly, no answer."""

LIMITS = {
    "time": TerminationReason.TIMEOUT,
    "working": TerminationReason.TIMEOUT,
    "message": TerminationReason.MAX_STEPS,
    "turn": TerminationReason.MAX_STEPS,
    "token": TerminationReason.BUDGET,
    "cost": TerminationReason.BUDGET,
}
"""Our reasons by the kinds of limits."""


def read_run(place: Path) -> Iterator[Imported]:
    """Yield the attempts of a log, or of all logs of a folder.

    Raises:
        UsageError: a file is wrong; the message names it.
        ConfigError: Inspect is not installed.
    """
    api = load_api()
    files = [place] if place.is_file() else sorted(place.rglob("*.eval"), key=lambda one: natural(one.name))
    for file in files:
        if file.suffix not in SUFFIXES:
            raise wrong(file, "is not a log of Inspect: its name ends in .eval or .json.")
        _check_size(file)
        try:
            header = api.read_eval_log(str(file), header_only=True)
            for entry in _list_entries(api, file):
                yield from _Entry(api, file, header, entry).read()
        except (UsageError, OSError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 whatever its reader raises at a damaged file
            raise wrong(file, f"cannot be read by Inspect: {describe_error(error)}.") from None


def _list_entries(api: Any, file: Path) -> Iterator[Any]:
    if file.suffix == ".json":  # it cannot be read in part
        yield from api.read_eval_log(str(file), resolve_attachments="full").samples or ()
        return
    for one in api.read_eval_log_sample_summaries(str(file)):
        yield api.read_eval_log_sample(str(file), one.id, one.epoch, resolve_attachments="full")


def _check_size(file: Path) -> None:
    """Refuse a file that would fill the memory; nothing of a zip file is unpacked."""
    sizes = [file.stat().st_size]
    if file.suffix == ".eval":
        try:
            with ZipFile(file) as archive:
                sizes = [one.file_size for one in archive.infolist()]
        except (BadZipFile, ValueError, NotImplementedError) as error:
            raise wrong(file, f"is not a log of Inspect: {error}.") from None
    if max(sizes, default=0) > MOST_BYTES:
        raise wrong(file, f"has a part that is larger than {MOST_BYTES} bytes.")


class _Entry:
    """One task of a log, in one epoch, with the attempts before it."""

    def __init__(self, api: Any, file: Path, header: Any, entry: Any) -> None:
        self._api, self._file, self._header, self._entry = api, file, header, entry

    def read(self) -> Iterator[Imported]:
        """Yield its attempts."""
        entry = self._entry
        ours = entry.metadata.get(OURS)
        earlier = list(entry.error_retries or ())
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(ours, list) and len(ours) == len(earlier) + 1:
                for number, value in enumerate(ours):
                    events = entry.events if number == len(earlier) else earlier[number].events
                    yield self._read_own(value, events or (), Path(folder) / str(number))
            else:
                yield self._read_foreign(Path(folder))

    def _read_own(self, value: Any, events: Any, folder: Path) -> Imported:
        try:
            record = read_record(value)
        except ValueError as error:
            raise wrong(self._file, f"{self._entry.id}: metadata.{OURS}: {error}.") from None
        pictures = Pictures(folder)
        lines = EventReader(self._api, pictures)
        lines.read(events)
        return Imported.from_record(record, self._file, lines.messages, pictures.files, _warn(lines.losses()))

    def _read_foreign(self, folder: Path) -> Imported:
        entry, header = self._entry, self._header
        pictures = Pictures(folder)
        chat = ChatReader(self._api, pictures)
        chat.read(entry.messages, entry.events)
        losses = dict(chat.losses())
        grades = dict(self._list_grades(losses))
        name = header.eval.headline_metric.scorer if header.eval.headline_metric else None
        rule: PassWhen = Primary(primary=name) if name in grades else "all"
        if entry.error_retries:
            losses["earlier attempts are left out"] = len(entry.error_retries)
        error = entry.error
        usage = self._read_usage()
        broken = TaskError(source=ErrorSource.AGENT, message=error.message, timestamp="") if error else None
        reason = TerminationReason.ERROR if error else TerminationReason.UNKNOWN
        if entry.limit is not None and not error:
            reason = LIMITS.get(entry.limit.type, reason)
        query = entry.input if isinstance(entry.input, str) else chat.first_words
        config = {"type": header.eval.solver or "inspect", "model": header.eval.model, "system": chat.system}
        target = entry.target if isinstance(entry.target, str) else None
        website = entry.metadata.get("website")
        return Imported(
            folder=self._file,
            task=Task(
                query_id=str(entry.id) or "task",
                query=query or "(the log has no instruction)",
                dataset=header.eval.dataset.name or header.eval.task,
                answer=target or None,
                metadata=RowMetadata(
                    original_task_id=str(entry.id), website=website if isinstance(website, str) else None
                ),
            ),
            messages=chat.messages,
            pictures=pictures.files,
            final_answer=entry.output.completion or chat.last_words or None,
            termination_reason=reason,
            started_at=chat.check_time(entry.started_at),
            completed_at=chat.check_time(entry.completed_at),
            total_duration_ms=None if entry.total_time is None else max(entry.total_time, 0) * 1000,
            agent_config={key: value for key, value in config.items() if value},
            grades={} if error else grades,
            pass_when=rule,
            errors=(broken,) if broken else (),
            warnings=_warn(losses),
            usage=usage,
            cost_usd=usage.cost_usd,
            trial=max(entry.epoch, 1),
        )

    def _list_grades(self, losses: dict[str, int]) -> Iterator[tuple[str, GraderResult]]:
        for name, score in (self._entry.scores or {}).items():
            value = score.value
            if isinstance(value, str):
                value = VALUES.get(value, value)
            if isinstance(value, bool | int | float) and 0 <= value <= 1:
                passed = Verdict.PASSED if value == 1 else Verdict.FAILED
                yield (
                    name,
                    GraderResult(
                        grader=name,
                        verdict=passed,
                        score=float(value),
                        reasoning=score.explanation or "",
                        fingerprint=f"inspect/{name}",
                    ),
                )
            else:
                text = "scores that are not a number from 0 to 1 are left out"
                losses[text] = losses.get(text, 0) + 1

    def _read_usage(self) -> Usage:
        total = Usage()
        for one in self._entry.model_usage.values():
            cached = one.input_tokens_cache_read or 0
            total += Usage(
                input_tokens=max(one.input_tokens, 0) + max(cached, 0),
                output_tokens=max(one.output_tokens, 0),
                cache_read_tokens=max(cached, 0),
                cost_usd=one.total_cost if one.total_cost is None or one.total_cost >= 0 else None,
            )
        return total


def _warn(losses: Mapping[str, int]) -> tuple[EvalWarning, ...]:
    source = ErrorSource.MESSAGE_LOGGING
    texts = (f"{text}: {count}" for text, count in losses.items() if count)
    return tuple(EvalWarning(source=source, message=text, timestamp="") for text in texts)
