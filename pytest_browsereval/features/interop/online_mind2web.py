"""A run of ours in Online-Mind2Web's form, so that other judges can read it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.errors import ErrorSource, UsageError
from pytest_browsereval.features.interop.files import wrong
from pytest_browsereval.features.shared.judging.steps import describe_call
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.store import check_new
from pytest_browsereval.run_files import write_json
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import check_log, find_pictures, number_of
from pytest_browsereval.runs.run import StoredRun

# The tool that gives the answer is left out: the judges of the benchmark see actions only.
ENDS = "done"


class OnlineMind2WebExport(ExportConfig):
    """The format of Online-Mind2Web, which other judges read. It has the last attempt of each trial."""

    type: Literal["online-mind2web"] = "online-mind2web"
    output: Path
    """The folder to write, which must not exist yet."""

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write it."""
        return replace(write_run(run, base_dir / self.output), place=str(self.output))


def write_run(run: StoredRun, target: Path) -> Exported:
    """Write the last attempt of each trial as a folder; each agent's and each repetition's apart.

    Attempts that errored before there was anything to grade are left out; the result has their
    reasons. So are attempts under attack: a judge's rate would be of both.

    Args:
        run: the run.
        target: the folder, which is not there yet; for a run with several agents or repetitions it gets a
            folder for each, since the form has one attempt for each task.

    Raises:
        UsageError: the folder is there already, or nothing is to be written.
        OSError: it cannot be written.
    """
    check_new(target)
    trials = [one for one in run.attempts if one.counts]
    if not trials:
        raise UsageError(f"{run.folder} has no finished attempt.")
    plain = [one for one in trials if one.derived is None]
    kinds = {(one.variant, one.trial) for one in plain}
    chosen, left_out = list[StoredAttempt](), list[str]()
    left_out += (f"{one.query_id}: made under attack" for one in trials if one.derived is not None)
    for one in plain:
        # Where only the grader broke, the attempt is whole and another judge can grade it.
        if one.verdict is Verdict.ERRORED and one.error_source is not ErrorSource.GRADER:
            left_out.append(f"{one.query_id}: errored ({one.error_source}): {one.reason}")
            continue
        # Before anything is written: what follows a damaged line would be missing without a word.
        check_log(one.folder, is_empty_allowed=True)
        chosen.append(one)
    for one in chosen:
        place = target if len(kinds) == 1 else target / f"{safe_folder(one.variant)}-{one.trial}"
        # Its own id, which other judges take from there.
        _write(one, place / safe_id(one.query_id))
    return Exported(str(target), len(chosen), tuple(left_out))


def _write(attempt: StoredAttempt, target: Path) -> None:
    data, pictures = attempt.metadata, target / "trajectory"
    pictures.mkdir(parents=True)
    names = []
    for picture in find_pictures(attempt.folder):
        if not picture.is_file():
            raise wrong(picture, "is not a plain file. Put the picture in its place.")
        names.append(f"{number_of(picture):04d}{picture.suffix}")  # they sort by the first number of a name
        shutil.copyfile(picture, pictures / names[-1])
    steps = [step for step in attempt.steps if step.call.tool != ENDS]
    result = {
        "task_id": data.query_id,
        "task": data.query,
        "final_result_response": data.final_answer,
        "action_history": [describe_call(step, 1000) for step in steps],
        "thoughts": [step.thought for step in steps],
        "start_url": data.start_url,
        "image_names": names,
    }
    write_json(target / "result.json", result)
