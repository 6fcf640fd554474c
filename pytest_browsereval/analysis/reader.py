"""Reads a finished run: the attempts by their lines, all else of an attempt when it is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.analysis.summary import RunSummary, summarise
from pytest_browsereval.analysis.turns import Entry, StoredStep, TurnReader, list_steps
from pytest_browsereval.capture.message_log import read_messages
from pytest_browsereval.capture.trajectory import TASK_FILE
from pytest_browsereval.datasets.ids import CAPITALS, name_attempt, original_id
from pytest_browsereval.errors import ErrorSource, UsageError
from pytest_browsereval.graders.judging.pictures import find_pictures, number_of
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.digest import AttemptDigest
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.run.deaths import count_deaths
from pytest_browsereval.run.lookup import PARTIAL
from pytest_browsereval.run.store import RUN_ID, RunStore
from pytest_browsereval.run.stored import read_stored
from pytest_browsereval.run_files import read_written
from pytest_browsereval.runs.lines import read_line

if TYPE_CHECKING:
    import pyarrow as pa

    from pytest_browsereval.door import Door


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """A finished attempt of a stored run.

    Its figures are there at once. ``metadata``, ``grades``, ``task``, ``messages``, ``turns``, ``steps`` and
    ``pictures`` read files each time that they are asked for; of a run at a URL the first one fetches them.
    Verdict, score and error are three things: an errored attempt has no score, and is not a failure.
    """

    run: StoredRun = field(repr=False)
    digest: AttemptDigest
    """Its record without long texts: verdict, reason, steps, usage, cost, times, tags."""
    counts: bool
    """True for the last attempt of its trial, by which the trial is counted. Earlier ones have errored."""
    place: str
    """Its folder below the run's, with slashes."""

    # -- what it is

    @property
    def id(self) -> str:
        """``EVAL/RUN/TASK/VARIANT/TRIAL/ATTEMPT``, the same on each machine; names are as in folders."""
        data = self.digest
        run = self.run
        numbers = {"trial": data.trial, "attempt": data.attempt}
        return name_attempt(run.eval, run.id, data.query_id, data.variant, **numbers)

    @property
    def trial_id(self) -> str:
        """The same without the number of the attempt."""
        return self.id.rpartition("/")[0]

    @property
    def query_id(self) -> str:
        """The id of its task."""
        return self.digest.query_id

    @property
    def variant(self) -> str:
        """The name of the agent setup."""
        return self.digest.variant

    @property
    def trial(self) -> int:
        """Which trial of the task, from 1."""
        return self.digest.trial

    @property
    def number(self) -> int:
        """Which try at its trial, from 1."""
        return self.digest.attempt

    @property
    def derived(self) -> Derived | None:
        """What its row was derived from: then it is in no pass rate. None for a plain row."""
        return self.digest.derived

    # -- what it came to

    @property
    def verdict(self) -> Verdict:
        """Passed, failed or errored."""
        return self.digest.verdict

    @property
    def error_source(self) -> ErrorSource | None:
        """What broke, if and only if the verdict is errored."""
        return self.digest.error_source

    @property
    def reason(self) -> str:
        """The reason for the verdict."""
        return self.digest.reason

    @property
    def cost_usd(self) -> float | None:
        """What it cost in US dollars; None if a part of that is not known."""
        return self.digest.cost_usd

    # -- what is in its folder

    @property
    def folder(self) -> Path:
        """Its folder, with all of its files.

        Raises:
            UsageError: the run is at a URL, and cannot be fetched.
        """
        return self.run.files / self.place

    @property
    def metadata(self) -> TaskMetadata:
        """Its whole record: query, final answer, errors, warnings, the agent's block.

        Raises:
            UsageError: the file is damaged.
        """
        assert self.digest.line is not None  # noqa: S101 it was read from the run
        return read_line(self.run.folder, self.digest.line)

    @property
    def grades(self) -> Mapping[str, GraderResult]:
        """The grades by the graders' names, with criteria and details; empty if it errored before grading.

        Raises:
            UsageError: the file is damaged.
        """
        return self.metadata.grader_results

    @property
    def task(self) -> Task | None:
        """The row as it was run, without what is hidden of a protected one; None if it errored before that.

        Raises:
            DatasetError: the file is damaged.
        """
        folder = self.folder
        return read_stored(folder).task if (folder / TASK_FILE).exists() else None

    @property
    def is_protected(self) -> bool:
        """Whether the benchmark asks that answers of the row are never written in plain text.

        What is said in such an attempt (messages, final answer, reasoning, pictures) is to stay on this
        machine. Also true where nobody knows: an attempt of an earlier version that errored before grading.
        """
        known = self.metadata.protected
        task = self.task if known is None else None
        return known if known is not None else task is None or task.protected

    @property
    def cause(self) -> Cause | None:
        """Why it did not pass, by rules over its steps, and the first wrong one; None if it passed."""
        return self.run.door.find_cause(self.metadata, self.folder)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The lines of its log, up to one that is damaged."""
        return tuple(read_messages(self.folder))

    @property
    def turns(self) -> tuple[Entry, ...]:
        """The same put together: each reply of a model with its calls, their results, and its delegations.

        Between turns stand the messages of the user and errors.
        """
        pictures = self.pictures
        return TurnReader(self.messages, self.metadata.agent_config, pictures.get).read()

    @property
    def steps(self) -> tuple[StoredStep, ...]:
        """The tool calls with their results, those of executors included, in the order of ``turns``."""
        return tuple(list_steps(self.turns))

    @property
    def pictures(self) -> Mapping[int, Path]:
        """The files of its pictures by their numbers; what a link leads to is none of them."""
        folder = self.folder
        found = [] if (folder / "screenshots").is_symlink() else find_pictures(folder)
        return {number_of(path): path for path in found if path.is_file() and not path.is_symlink()}


class StoredRun:
    """A run as it is stored: what it was made of, and its attempts.

    ``open_run`` finds one by its folder, id or URL.

    Args:
        folder: of the run, or of a copy without its attempts' files.
        door: asks plug-ins for causes, tables, and files at a URL.
        summary: of the run, if it was read before.
    """

    def __init__(self, folder: Path, door: Door, summary: RunSummary | None = None) -> None:
        self.folder = folder.absolute()
        self.door = door
        self._summary = summary

    def __repr__(self) -> str:
        return f"<StoredRun {self.id}>"

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What it was made of: config, hashes, versions, commit; without secrets, empty if it is damaged."""
        found: dict[str, Any] = redact_config(RunStore(self.folder).manifest())
        return found

    @cached_property
    def id(self) -> str:
        """The name of its folder; with six hex digits behind it if that is not one that a session has made.

        So what was merged, imported or brought into folders of one name has ids of its own.
        """
        name = self.folder.resolve().name
        made_of = [self.manifest.get(key) for key in ("started_at", "merged_from", "imported_from")]
        if RUN_ID.fullmatch(name) or not any(made_of):
            return name
        return f"{name}-{hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:6]}"

    @property
    def eval(self) -> str:
        """The name of its eval; by the folder above if the manifest does not say."""
        name, folder = self.manifest.get("name"), self.folder.resolve().parent.name
        return (
            name if name and isinstance(name, str) else original_id(folder.partition(CAPITALS)[0]) or folder
        )

    @cached_property
    def _read(self) -> tuple[list[tuple[str, AttemptDigest]], RunSummary]:
        digests = RunStore(self.folder).placed_digests()
        return digests, summarise(digests, self.folder, deaths=count_deaths(self.folder))

    @property
    def summary(self) -> RunSummary:
        """Its trials and figures, as ``summary.json`` has them.

        Raises:
            UsageError: a record is damaged, or a newer version has written the run.
        """
        return self._read[1] if self._summary is None else self._summary

    @cached_property
    def attempts(self) -> tuple[StoredAttempt, ...]:
        """All finished attempts, in the order of the tasks' folders, each trial's in their order.

        Raises:
            UsageError: a record is damaged, or a newer version has written the run.
        """
        digests, summary = self._read
        last = {id(trial.metadata) for trial in summary.trials}
        return tuple(StoredAttempt(self, data, id(data) in last, place) for place, data in digests)

    @cached_property
    def files(self) -> Path:
        """The folder of the run with all files of its attempts; of one at a URL they are fetched now.

        Raises:
            UsageError: they cannot be had.
        """
        try:
            url = read_written(self.folder / PARTIAL).decode(errors="replace")
        except OSError:
            return self.folder
        found = {folder.name: folder for folder in self.door.fetch_run(url)}
        if self.folder.name not in found:
            raise UsageError(f"{url} has no {self.folder.name} any more.")
        return found[self.folder.name]

    def table(self, name: str) -> pa.Table:
        """Return a table of the run, as ``browsereval export --to parquet`` writes it.

        Args:
            name: ``attempts``, ``grades``, ``steps`` or ``messages``.

        Raises:
            UsageError: there is no such table, the extra ``data`` is not installed, or a file is damaged.
        """
        return self.door.make_table(self, name)
