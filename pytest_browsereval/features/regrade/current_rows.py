"""Stored attempts judged by the rows as the datasets have them now: answers, checks and rubrics corrected."""

from __future__ import annotations

from pytest_browsereval.datasets.reader import read_row
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.regrade.stored_plan import StoredEntry, StoredPlan
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.tasks import SITUATION, Task
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.row_checks import check_that_all_is_read, read_graders
from pytest_browsereval.runs.folder import StoredTask

HOW = "grade by the rows that the run has stored (--eval-regrade-rows=stored), or leave it out"


class CurrentPlan(StoredPlan):
    """The trials of a run folder; each is judged by its row and graders as they are now."""

    def _task(self, entry: StoredEntry, where: str, stored: StoredTask) -> tuple[Task, str]:
        del where
        row = self._row_now(entry)
        task = self.as_run(row, stored)
        known = redact_json(stored.task.model_dump(mode="json"), self._redact)
        now = redact_json(task.model_dump(mode="json"), self._redact)
        if changed := [key for key in now if key in SITUATION and now[key] != known[key]]:
            raise DatasetError(
                f"{entry.where} has a different {' and '.join(changed)} than in the run, so its stored "
                f"attempts say nothing about it. Run it again, {HOW}."
            )
        return task, row.content_hash()

    def _own(
        self, entry: StoredEntry, task: Task, stored: StoredTask, where: str
    ) -> tuple[GraderConfig, ...]:
        del entry, stored
        return tuple(read_graders(task.graders, self._registry, where, hide=task.protected))

    def _read_stored(self, entry: StoredEntry) -> Trial:
        ready = super()._read_stored(entry)
        if not (self.config.graders and ready.task.graders):
            check_that_all_is_read(ready.task, ready.graders, self._registry, entry.where)
        return ready

    def _row_now(self, entry: StoredEntry) -> Task:
        """Return the row of a trial as the dataset has it now.

        Raises:
            DatasetError: there is none, or it cannot be read.
        """
        if self.rows_problem is not None:
            raise DatasetError(self.rows_problem)
        if (derived := entry.metadata.derived) is not None and self._find_deriving(entry) is None:
            raise DatasetError(
                f"{self.config.path}: the config no longer has the {derived.by} {derived.name!r}, "
                f"under which the run made {entry.ref.query_id!r}. Restore it, {HOW}."
            )
        if self._is_gone(entry):
            files = ", ".join(str(dataset.file(self.config.base_dir)) for dataset in self.config.dataset)
            raise DatasetError(
                f"{files}: there is no longer a row {entry.ref.query_id!r}. Restore it, {HOW}."
            )
        return read_row(entry.dataset, entry.ref)
