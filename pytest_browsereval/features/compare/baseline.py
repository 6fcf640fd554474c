"""Baselines: an earlier run as its folder, or as a small file that is committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.analysis.evidence import check_contradictions, check_run
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import TerminationReason, UsageError
from pytest_browsereval.features.compare.compare import count_plain
from pytest_browsereval.features.shared.reporting import write
from pytest_browsereval.model.display import LONGEST, one_line
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.attempt import Line, StoredAttempt, make_attempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

# Of the format of the file.
VERSION = 1

_EXPORT = "`browsereval export RUN --to baseline -o FILE`"

_SAME = ("query_id", "variant", "trial", "verdict", "error_source", "reason", "row_hash", "website", "tags")
"""Keys of a trial whose values are those of its record."""


def write_baseline(run: StoredRun, file: Path) -> None:
    """Write a run as a file for a repository: a line for each trial, sorted, so that changes can be read.

    Raises:
        UsageError: it cannot be written.
    """
    head = {
        "baseline_version": VERSION,
        "run": run.name,
        "selected": count_plain(run),
        "manifest": run.read_manifest(),
    }
    trials = sorted(run.summary.plain, key=lambda one: (one.last.query_id, one.last.variant, one.last.trial))
    # One line for each trial, sorted: a diff of two baselines shows which results changed.
    lines = (json.dumps(_make_row(one), ensure_ascii=False, separators=(",", ":")) for one in trials)
    start = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
    rows = ",\n".join(f"  {line}" for line in lines)
    write(file, f'{start},\n "trials": [\n{rows}\n ]\n}}\n')


def _make_row(trial: StoredTrial) -> dict[str, Any]:
    """Return a trial as plain values."""
    data = trial.last
    judges = [(name, one.fingerprint) for name, one in data.grader_results.items() if not one.advisory]
    return {
        **{key: getattr(data, key) for key in _SAME},
        "reason": "" if data.protected else data.reason[:LONGEST],
        "steps": data.total_steps,
        "duration_ms": data.total_duration_ms,
        "cost_usd": trial.cost_usd,
        "judges": sorted(judges),
    }


class BaselineFile(StoredRun):
    """A run as the file of a baseline has it: one attempt of each trial, of which no more is known.

    Args:
        file: the file.

    Raises:
        UsageError: it is none, or is damaged.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        try:
            content: dict[str, Any] = json.loads(file.read_bytes())
            self.name, self._manifest = str(content["run"]), dict(content["manifest"])
            self._selected = None if content["selected"] is None else int(content["selected"])
            self.attempts = tuple(map(self._read_row, content["trials"]))
            # A merge of two branches in git may keep both lines of a trial.
            twice = [one.last for one in self.trials if len(one.attempts) > 1]
            why = f"{one_line(twice[0].query_id, 60)!r} has trial {twice[0].trial} twice" if twice else ""
            if content["baseline_version"] != VERSION:
                why = f"this version reads form {VERSION} of `baseline_version`"
        except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
            why = str(error).partition("\n")[0] or "it is empty"
        if why or not self.attempts:
            why = why or "it has no trial"
            raise UsageError(f"{file} is not a baseline, or is damaged: {why}. Write it with {_EXPORT}")

    def read_manifest(self) -> dict[str, Any]:
        """Return that of the run."""
        return self._manifest

    def count_selected(self) -> int | None:
        """Return how many trials the run was to have; None: nobody knows."""
        return self._selected

    def _read_row(self, row: dict[str, Any]) -> StoredAttempt:
        """Return an attempt by what ``_make_row`` has made of a trial.

        Raises:
            ValueError: the row is damaged; or a KeyError or TypeError.
        """
        grades = (
            GraderResult(grader=name, verdict=row["verdict"], fingerprint=fingerprint)
            for name, fingerprint in row["judges"]
        )
        record = TaskMetadata(
            **{key: row[key] for key in _SAME},
            dataset="",
            query="",
            started_at="",
            completed_at="",
            total_duration_ms=row["duration_ms"],
            total_steps=row["steps"],
            termination_reason=TerminationReason.UNKNOWN,
            final_answer=None,
            cost_usd=row["cost_usd"],
            grader_results={one.grader: one for one in grades},
        )
        return make_attempt(record, self, Line(self.folder.name, 0, 0, ""))


def read_run(place: Path) -> StoredRun:
    """Return a run from its folder or from a baseline's file.

    Raises:
        UsageError: it is neither, has no result, is damaged, or its summary contradicts its records.
    """
    if place.is_file():
        return BaselineFile(place)
    run = StoredRun(place)
    check_run(run)
    check_contradictions(run)
    if not run.summary.plain:
        raise UsageError(
            f"{format_path(run.folder)} has no finished attempt, so there is nothing to look at."
        )
    return run


def check_readable(place: Path) -> None:
    """Refuse what is neither a run nor the file of a baseline.

    Raises:
        UsageError: it is none, or the file is damaged.
    """
    if place.is_file():
        BaselineFile(place)
    elif place.exists():
        check_run(StoredRun(place))
    else:
        raise UsageError(
            f"there is no file or run {format_path(place)}. Write it with {_EXPORT}, or name a run's folder. "
            "For a run that was merged or moved, add --config FILE or --baseline FILE to `browsereval gate`."
        )
