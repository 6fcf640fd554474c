"""Plays rows by the agents ``scripted`` and ``noop``, in a pytest of their own: what proves a solution."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Protocol, TypeVar

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.features.shared.process import run_pytest
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

ORACLE, NO_OP = "scripted", "noop"

# For pytest, browser and sites to start and end, besides the attempts.
START_S = 120.0
# For each attempt, besides the time of its agent.
GRADING_S = 120.0


class ProofRow(Protocol):
    """A row that is played."""

    @property
    def task(self) -> Task:
        """The row."""

    @property
    def dataset(self) -> DatasetConfig:
        """The block that it is of."""


R = TypeVar("R", bound=ProofRow)


def has_solved(trial: StoredTrial) -> bool:
    """Whether a solution passes with all of its steps: a check may hold without the one that has failed."""
    return trial.last.verdict is Verdict.PASSED and not trial.last.metadata.errors


def has_judged(trial: StoredTrial) -> bool:
    """Whether an attempt has passed or failed."""
    return trial.last.verdict is not Verdict.ERRORED


def find_obstacle(task: Task, graders: Iterable[GraderConfig], *, ask_judge: bool = False) -> str:
    """Return why a row cannot be played; empty if it can."""
    if task.protected:
        return "it is protected, so no copy of it is written"
    if not ask_judge and any(grader.needs(task).models for grader in graders):
        return "a model grades it"
    return ""


def close_rows(rows: list[R]) -> list[R]:
    """Return the rows that depend only on each other: one that is dropped may be what another depends on."""
    while True:
        ids = {row.task.query_id for row in rows}
        kept = [row for row in rows if set(row.task.depends_on) <= ids]
        if len(kept) == len(rows):
            return kept
        rows = kept


@dataclass
class Stage:
    """Where rows are played."""

    config: EvalConfig
    folder: Path
    """Where the runs go; the caller removes it."""
    sets: tuple[str, ...] = ()
    """Overrides of the config, ``key.path=value``."""
    runs: list[Path] = field(default_factory=list)
    """The folders of the runs so far."""
    trials: int = 1

    def play(
        self, agent: str, rows: Sequence[ProofRow], is_right: Callable[[StoredTrial], bool] | None = None
    ) -> tuple[dict[str, StoredTrial], str]:
        """Return what the rows come to by an agent, and the last lines that pytest prints.

        Args:
            agent: its type.
            rows: with all that they depend on.
            is_right: each row of which it says False is played alone once more: where many attempts run at
                once, a page may be too slow for a good row.
        """
        if not rows:
            return {}, ""
        found, output_text = self._run(agent, rows)
        trials = {one.last.query_id: one for one in found}
        wrong = {name for name, one in trials.items() if is_right is not None and not is_right(one)}
        if again := list_needed(rows, wrong):
            trials |= {one.last.query_id: one for one in self._run(agent, again, workers=1)[0]}
        return trials, output_text

    def play_all(self, agent: str, rows: Sequence[ProofRow]) -> list[StoredAttempt]:
        """Return what each trial of rows comes to by an agent."""
        return [one.last for one in self._run(agent, rows)[0]] if rows else []

    def _run(
        self, agent: str, rows: Sequence[ProofRow], *, workers: int | None = None
    ) -> tuple[list[StoredTrial], str]:
        """Run rows in a pytest; returns their trials, and the last lines that it prints."""
        output = Path(tempfile.mkdtemp(prefix=f"{agent}-", dir=self.folder))
        blocks = []
        for place, dataset in enumerate(self.config.dataset):
            if own := [row for row in rows if row.dataset is dataset]:
                file = output / f"rows-{place}" / "rows.jsonl"
                file.parent.mkdir()
                _copy_files(own, dataset.file(self.config.base_dir).parent, file.parent)
                lines = (json.dumps(row.task.model_dump(mode="json", exclude_defaults=True)) for row in own)
                file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                blocks.append({"type": "jsonl", "path": str(file), "trusted": dataset.trusted})
        config = self.config
        keys = [f"dataset={json.dumps(blocks)}", *([f"num_workers={workers}"] if workers else [])]
        keys += ["gate={}"] if config.is_gated else []  # rows that it names may be left out
        keys += [f"{name}=[]" for name in ("attacks", "export") if getattr(config, name)]
        keys += ["probe=off"] if config.probe != "off" else []
        command = [
            *("-q", "-p", "no:cacheprovider"),
            *(f"--eval-config={config.path}", f"--eval-agent={agent}", f"--eval-trials={self.trials}"),
            f"--eval-output={output / 'runs'}",
            *(f"--eval-set={text}" for text in (*self.sets, *keys)),
        ]
        lanes = workers or config.num_workers or config.lanes
        attempts = ceil(len(rows) * self.trials / lanes) * (1 + config.retries)
        limit_s = START_S + attempts * (config.limits.timeout_ms / 1000 + GRADING_S)
        output_text = run_pytest(command, limit_s)
        runs = [path for path in output.glob("runs/*/*") if (path / "tasks").is_dir()]
        self.runs += runs
        return [trial for run in runs for trial in StoredRun(run).summary.trials], output_text


def _copy_files(rows: Iterable[ProofRow], source: Path, folder: Path) -> None:
    """Put the files of rows next to their copies; what is missing there pytest reports."""
    for name in {file.path for row in rows for file in row.task.files if file.sha256}:
        with suppress(OSError):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, folder / name)


def list_needed(rows: Sequence[R], wanted: Iterable[str]) -> list[R]:
    """Return the rows that are wanted, and those that they depend on."""
    known, found = {row.task.query_id: row for row in rows}, dict.fromkeys(wanted)
    pending = list(found)
    while pending:
        new = [one for one in known[pending.pop()].task.depends_on if one not in found]
        found.update(dict.fromkeys(new))
        pending += new
    return [row for row in rows if row.task.query_id in found]
