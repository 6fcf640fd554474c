"""A run as it is stored: what it was made of, and its attempts by their lines."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.ids import CAPITALS, original_id
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.messages import SCHEMA_VERSION
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.run_files import load_written, parse_lines, read_written
from pytest_browsereval.runs.attempt import StoredAttempt, find_trial
from pytest_browsereval.runs.deaths import count_deaths
from pytest_browsereval.runs.lines import Lines, read_bytes, read_content
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.summary_file import read_figures as read_summary_figures
from pytest_browsereval.runs.trial import StoredTrial, list_trials

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

RUN_ID = re.compile(r"\d{8}T\d{6}Z-[a-z]{6}")
"""As ``new_run_id`` makes it."""

PARTIAL = ".partial"
"""In a copy of a run that lacks files of attempts: the URL of the run."""


class RunDoor(Protocol):
    """What a run asks plug-ins, and what it gets where it is read without any."""

    def find_cause(self, metadata: TaskMetadata, folder: Path) -> Cause | None:
        """Return why an attempt did not pass; None if it passed, or if nobody knows."""
        return None

    def fetch_run(self, url: str) -> Sequence[Path]:
        """Return copies of the parts of a run at a URL, with all files."""
        raise UsageError(f"{url} has files of attempts that are needed. Run `browsereval pull` first.")

    def make_table(self, run: StoredRun, name: str) -> Any:
        """Return a table of a run."""
        where = format_path(run.folder)
        raise UsageError(f"{where} is read without plug-ins, so there is no table {name!r}.")

    def sum_up_run(self, run: StoredRun) -> dict[str, Any]:
        """Return the figures that plug-ins add to those of a run."""
        return {}


class _Closed(RunDoor):
    """The door of a run that is read without plug-ins."""


class StoredRun:
    """A run as it is stored: what it was made of, and its attempts.

    ``open_run`` finds one by its folder, id or URL.

    Args:
        folder: of the run, or of a copy without its attempts' files.
        door: asks plug-ins for causes, tables, and files at a URL; without one there are none.
    """

    def __init__(self, folder: Path, door: RunDoor | None = None) -> None:
        self.folder = folder.absolute()
        self.door: RunDoor = _Closed() if door is None else door
        self._live = Lines(self.folder, self)
        self._reading = threading.Lock()

    def __repr__(self) -> str:
        return f"<StoredRun {self.id}>"

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What it was made of: config, hashes, versions, commit; without secrets, empty if it is damaged."""
        found: dict[str, Any] = redact_config(self.read_manifest())
        return found

    @cached_property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    @cached_property
    def id(self) -> str:
        """The name of its folder; with six hex digits after it if that is not one that a session has made.

        So what was merged, imported or brought into folders of one name has ids of its own.
        """
        name = self.name
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

    # -- what its files say

    def read_manifest(self) -> dict[str, Any]:
        """Return the manifest as it is now; empty before one was written, and if it is damaged."""
        try:
            loaded = load_written(self.folder / "manifest.json")
        except (OSError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    def find_gate(self) -> Any:
        """Return the block of the gate that the run's last session has set; None if nobody knows.

        Rules may have changed when a run is resumed or regraded.
        """
        config = self.read_manifest().get("config")
        begun_with = config.get("gate") if isinstance(config, dict) else None
        return self.read_figures().get("gate", begun_with)

    def count_selected(self) -> int | None:
        """Return how many trials the run should have, by its summary; None if there is none."""
        return self._read_count("selected")

    def count_planned(self) -> int | None:
        """Return how many trials the run was begun for, by its manifest; None if that does not say."""
        count = self.read_manifest().get("selected")
        return count if isinstance(count, int) else None

    def count_skipped(self) -> int:
        """Return how many of them were skipped before their attempt, by its summary."""
        return self._read_count("skipped") or 0

    def read_lines(self, name: str, take: Callable[[Any], T]) -> Iterator[T]:
        """Yield what a function takes from each line of a file of the run, as ``parse_lines`` does.

        Raises:
            OSError: it cannot be read; one that is missing is empty.
        """
        with suppress(FileNotFoundError):
            yield from parse_lines(read_written(self.folder / name), take)

    def _read_count(self, key: str) -> int | None:
        try:
            return int(self.read_figures()[key])
        except (ValueError, KeyError, TypeError):
            return None

    def read_figures(self) -> dict[str, Any]:
        """Return the summary without its results; empty before it was written, and if it is damaged."""
        try:
            return read_summary_figures(self.folder)
        except (OSError, ValueError):
            return {}

    # -- its attempts

    def check_version(self) -> None:
        """Refuse a run of another version of this package: it may mean something else, or has no lines.

        Raises:
            UsageError: with what to install.
        """
        form = self.read_manifest().get("schema_version", SCHEMA_VERSION)
        if form != SCHEMA_VERSION:
            raise UsageError(
                f"{format_path(self.folder)}: another version of pytest-browsereval has written this run "
                f"(form {form!r}, here {SCHEMA_VERSION} is known). Run the eval again; or, if the form is "
                "a newer one, run `pip install --upgrade pytest-browsereval`."
            )

    def update_lines(self) -> Lines:
        """Return the lines of the run as they are now; ``attempts`` stay those that were read first."""
        with self._reading:
            self._live.update()
            return self._live

    @cached_property
    def attempts(self) -> tuple[StoredAttempt, ...]:
        """All finished attempts, in the order of the tasks' folders, each trial's in their order.

        Raises:
            UsageError: a record is damaged, or another version has written the run.
        """
        self.check_version()
        return tuple(self.update_lines().list_all())

    @cached_property
    def trials(self) -> tuple[StoredTrial, ...]:
        """All trials with a finished attempt, in the order in which they were begun.

        Raises:
            UsageError: as ``attempts``.
        """
        return list_trials(self.attempts)

    @cached_property
    def summary(self) -> RunSummary:
        """Its trials and figures, as ``summary.json`` has them.

        Raises:
            UsageError: as ``attempts``.
        """
        return RunSummary(self.trials, count_deaths(self.folder))

    def sum_up_lines(self) -> RunSummary:
        """Return trials and figures of the lines that can be read now: the run may go on, or be damaged."""
        lines = self.update_lines()
        attempts = (data for trial in lines.trials for data in lines.list_tries(trial))
        return RunSummary(list_trials(attempts), count_deaths(self.folder))

    @cached_property
    def _by_key(self) -> dict[tuple[str, str, int], StoredTrial]:
        return {(one.last.query_id, one.last.variant, one.last.trial): one for one in self.trials}

    def find_trial(self, attempt: StoredAttempt) -> StoredTrial:
        """Return the trial of an attempt."""
        return self._by_key[attempt.query_id, attempt.variant, attempt.trial]

    def list_history(self, trial: StoredTrial) -> Iterator[bytes]:
        """Yield all lines of the attempts of a trial that count, the earlier revisions of each too.

        Raises:
            UsageError: a file was changed since.
        """
        for line in self.update_lines().list_history(find_trial(trial.last)):
            yield read_bytes(self.folder, line)

    def read_content(self, attempt: StoredAttempt) -> bytes:
        """Return the line of an attempt, with its long texts.

        Raises:
            UsageError: the line or a text was changed since.
        """
        return read_content(self.folder, attempt.line)

    def read_record(self, attempt: StoredAttempt) -> TaskMetadata:
        """Return the whole record of an attempt.

        Raises:
            UsageError: its line was changed since.
        """
        return TaskMetadata.model_validate_json(self.read_content(attempt))

    @cached_property
    def files(self) -> Path:
        """The folder of the run with all files of its attempts; of one at a URL they are fetched now.

        Raises:
            UsageError: they cannot be fetched.
        """
        try:
            url = read_written(self.folder / PARTIAL).decode(errors="replace")
        except OSError:
            return self.folder
        found = {folder.name: folder for folder in self.door.fetch_run(url)}
        if self.folder.name not in found:
            raise UsageError(f"{url} no longer has {self.folder.name}.")
        return found[self.folder.name]

    def table(self, name: str) -> pa.Table:
        """Return a table of the run, as ``browsereval export --to parquet`` writes it.

        Args:
            name: ``attempts``, ``grades``, ``steps`` or ``messages``.

        Raises:
            UsageError: there is no such table, the extra ``data`` is not installed, or a file is damaged.
        """
        return self.door.make_table(self, name)
