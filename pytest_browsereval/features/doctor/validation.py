"""Proves a set: each row's own solution has to pass, and doing nothing has to fail."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.doctor.effects import has_effects, propose_volatile, try_one_too_many
from pytest_browsereval.features.doctor.lint.base import Finding, Row
from pytest_browsereval.features.shared.process import run_pytest
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

ORACLE, NO_OP = "scripted", "noop"

# For pytest, browser and sites to start and end, besides the attempts.
START_S = 120.0
# For each attempt, besides the time of its agent.
GRADING_S = 120.0


@dataclass
class Validated:
    """Result of the rows."""

    runs: list[Path] = field(default_factory=list)
    """Run folders, in the temporary folder of the doctor."""
    proved: list[str] = field(default_factory=list)
    """Rows whose solution passes and that doing nothing does not."""
    unproved: dict[str, list[str]] = field(default_factory=dict)
    """Ids of rows that were not tried, by the reason."""
    findings: list[Finding] = field(default_factory=list)
    """Attempts that broke; those with a wrong verdict are for the rules about runs."""
    refused: list[str] = field(default_factory=list)
    """Rows that have named one thing too many as a side effect."""


def validate(
    config: EvalConfig,
    rows: Sequence[Row],
    folder: Path,
    *,
    sets: Sequence[str] = (),
    ask_judge: bool = False,
) -> Validated:
    """Run the rows by the agents ``scripted`` and ``noop``, in a pytest of their own.

    Args:
        config: what the rows are run under.
        rows: with their graders.
        folder: where the runs go; the caller removes it.
        sets: overrides of the config, ``key.path=value``.
        ask_judge: True runs the rows too that a model grades, which costs money.
    """
    result = Validated()
    trial = _Trial(config, folder, tuple(sets), result)
    usable = list(_usable(rows, result, ask_judge=ask_judge))
    without = [row.task.query_id for row in usable if not row.task.solution]
    if without:
        result.unproved["it has no solution"] = without
    solved = trial.by(ORACLE, _close([row for row in usable if row.task.solution], result), _has_solved)
    if result.findings and not solved:
        return result  # pytest does not begin, and would not the next time either
    idle = trial.by(NO_OP, _close(usable, result), lambda one: one.last.verdict is not Verdict.ERRORED)
    failed = {query_id for query_id, one in idle.items() if one.last.verdict is Verdict.FAILED}
    passed = {query_id: one.last for query_id, one in solved.items() if _has_solved(one)}
    result.proved = [query_id for query_id in passed if query_id in failed]
    single = [row for row in usable if not row.task.depends_on]
    again = _Trial(
        config, folder, tuple(sets), Validated()
    )  # the rules about runs are of the rows as they are
    tried = try_one_too_many(single, passed, config, lambda rows: again.play(ORACLE, rows))
    result.refused, result.findings = tried.refused, result.findings + tried.findings
    if tried.untried:
        result.unproved["no other row of its sites is known to change more"] = tried.untried
    return result


def learn_volatile(
    config: EvalConfig, rows: Sequence[Row], folder: Path, *, sets: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Play rows that have effects twice, by their solutions and by an agent that does nothing.

    Args:
        config: what the rows are run under.
        rows: with their graders.
        folder: where the runs go; the caller removes it.
        sets: overrides of the config.

    Returns:
        What each site's ``volatile`` could be, and attempts that broke.
    """
    result = Validated()
    trial = _Trial(config, folder, tuple(sets), result, trials=2)
    usable = [row for row in _usable(rows, result, ask_judge=True) if has_effects(row)]
    solved = trial.play(ORACLE, _close([row for row in usable if row.task.solution], result))
    idle = trial.play(NO_OP, _close(usable, result))
    result.findings += propose_volatile(idle, solved, rows, config)
    return tuple(result.findings)


def _has_solved(trial: StoredTrial) -> bool:
    """Whether a solution passes with all of its steps: a check may hold without the one that has failed."""
    return trial.last.verdict is Verdict.PASSED and not trial.last.metadata.errors


def _usable(rows: Sequence[Row], result: Validated, *, ask_judge: bool) -> Iterator[Row]:
    for row in rows:
        if not row.graders:
            why = "its graders cannot judge it"
        elif row.task.protected:
            why = "it is protected, so no copy of it is written"
        elif not ask_judge and any(grader.needs(row.task).models for grader in row.graders):
            why = "a model grades it; --ask-judge asks that model"
        else:
            yield row
            continue
        result.unproved.setdefault(why, []).append(row.task.query_id)


def _close(rows: list[Row], result: Validated) -> list[Row]:
    """Return the rows that depend only on each other."""
    why = "it depends on a row that cannot be tried"
    # A row that is dropped may be what another one depends on.
    while True:
        ids = {row.task.query_id for row in rows}
        kept = [row for row in rows if set(row.task.depends_on) <= ids]
        if len(kept) == len(rows):
            return kept
        known = result.unproved.setdefault(why, [])
        known += sorted(ids - {row.task.query_id for row in kept} - set(known))
        rows = kept


# -- pytest


@dataclass(frozen=True)
class _Trial:
    config: EvalConfig
    folder: Path
    sets: tuple[str, ...]
    result: Validated
    trials: int = 1

    def by(
        self, agent: str, rows: list[Row], is_right: Callable[[StoredTrial], bool]
    ) -> dict[str, StoredTrial]:
        """Return what the rows come to by that agent; each that is not right is tried alone once more.

        (Where many attempts run at once, a page may be too slow for a good row.)
        """
        if not rows:
            return {}
        trials, output_text = self._run_by_row(agent, rows, self.folder / agent)
        wrong = {query_id for query_id, one in trials.items() if not is_right(one)}
        if again := _with_dependencies(rows, wrong):
            further, _ = self._run_by_row(agent, again, self.folder / f"{agent}-alone", workers=1)
            trials |= further
        self.result.findings += (
            found for row in rows for found in _find_broken(row, agent, trials, output_text)
        )
        return trials

    def play(self, agent: str, rows: list[Row]) -> list[StoredAttempt]:
        """Return all attempts at rows by that agent, made in a run of their own."""
        output = self.folder / f"{agent}-again-{len(self.result.runs)}"
        return [one.last for one in self._run(agent, rows, output)[0]] if rows else []

    def _run_by_row(
        self, agent: str, rows: list[Row], output: Path, *, workers: int | None = None
    ) -> tuple[dict[str, StoredTrial], str]:
        trials, output_text = self._run(agent, rows, output, workers=workers)
        return {one.last.query_id: one for one in trials}, output_text

    def _run(
        self, agent: str, rows: list[Row], output: Path, *, workers: int | None = None
    ) -> tuple[list[StoredTrial], str]:
        """Run rows in a pytest; returns their trials, and the last lines that it prints."""
        blocks = []
        for place, dataset in enumerate(self.config.dataset):
            if own := [row for row in rows if row.dataset is dataset]:
                file = output.with_name(f"{output.name}-{place}") / "rows.jsonl"
                file.parent.mkdir(parents=True)
                _copy_files(own, dataset.file(self.config.base_dir).parent, file.parent)
                lines = (json.dumps(row.task.model_dump(mode="json", exclude_defaults=True)) for row in own)
                file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                blocks.append({"type": "jsonl", "path": str(file), "trusted": dataset.trusted})
        keys = [f"dataset={json.dumps(blocks)}"]
        keys += [f"num_workers={workers}"] if workers else []
        keys += ["gate={}"] if self.config.is_gated else []  # rows that it names may be left out
        keys += ["attacks=[]"] if self.config.attacks else []
        keys += ["probe=off"] if self.config.probe != "off" else []
        command = [
            *("-q", "-p", "no:cacheprovider"),
            *(f"--eval-config={self.config.path}", f"--eval-agent={agent}", f"--eval-trials={self.trials}"),
            f"--eval-output={output}",
            *(f"--eval-set={text}" for text in (*self.sets, *keys)),
        ]
        lanes = workers or self.config.num_workers or self.config.lanes
        attempts = ceil(len(rows) * self.trials / lanes) * (1 + self.config.retries)
        limit_s = START_S + attempts * (self.config.limits.timeout_ms / 1000 + GRADING_S)
        output_text = run_pytest(command, limit_s)
        runs = [path for path in output.glob("*/*") if (path / "tasks").is_dir()]
        self.result.runs += runs
        return [trial for run in runs for trial in StoredRun(run).summary.trials], output_text


def _copy_files(rows: list[Row], source: Path, folder: Path) -> None:
    """Put the files of rows next to their copies; what is missing there pytest reports."""
    for name in {file.path for row in rows for file in row.task.files if file.sha256}:
        with suppress(OSError):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, folder / name)


def _with_dependencies(rows: list[Row], wanted: Collection[str]) -> list[Row]:
    """Return the rows that are wanted, and those that they depend on."""
    known, found = {row.task.query_id: row for row in rows}, dict.fromkeys(wanted)
    pending = list(found)
    while pending:
        new = [one for one in known[pending.pop()].task.depends_on if one not in found]
        found.update(dict.fromkeys(new))
        pending += new
    return [row for row in rows if row.task.query_id in found]


def _find_broken(row: Row, agent: str, trials: dict[str, StoredTrial], output_text: str) -> Iterator[Finding]:
    trial = trials.get(row.task.query_id)
    if trial is None:
        message = f"the agent {agent!r} made no attempt: {output_text}"
        yield row.error("errored-attempt", message, "Correct what pytest reports.")
    elif trial.last.verdict is Verdict.ERRORED:
        message = f"the attempt of {agent!r} broke: {trial.last.reason}."
        yield row.error("errored-attempt", message, "Correct it before a model is paid.")
