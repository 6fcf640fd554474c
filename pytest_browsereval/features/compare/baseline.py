"""Baselines: an earlier run as its folder, or as a small file that is committed."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pytest_browsereval.analysis.evidence import check_contradictions, check_run
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import TerminationReason, UsageError
from pytest_browsereval.features.compare.compare import RunComparison, compare, count_plain
from pytest_browsereval.features.shared.paired import MARGIN
from pytest_browsereval.features.shared.reporting import write
from pytest_browsereval.model.display import LONGEST, one_line
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.attempt import Line, StoredAttempt, make_attempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial
from pytest_browsereval.stats.statistics import CONFIDENCE

if TYPE_CHECKING:  # `compare` needs no config, which takes 0.2 s
    from pytest_browsereval.config import EvalConfig, GateConfig

# Of the format of the file.
VERSION = 1


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
    trials = sorted(run.summary.plain, key=_name_trial)
    # One line for each trial, sorted: a diff of two baselines shows which results changed.
    lines = (json.dumps(_make_row(one), ensure_ascii=False, separators=(",", ":")) for one in trials)
    start = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
    rows = ",\n".join(f"  {line}" for line in lines)
    write(file, f'{start},\n "trials": [\n{rows}\n ]\n}}\n')


_SAME = ("query_id", "variant", "trial", "verdict", "error_source", "reason", "row_hash", "website", "tags")
"""Keys of a trial whose values are those of its record."""


def _name_trial(trial: StoredTrial) -> tuple[str, str, int]:
    return trial.last.query_id, trial.last.variant, trial.last.trial


def _make_row(trial: StoredTrial) -> dict[str, Any]:
    """Return a trial as plain values."""
    data = trial.last
    return {
        **{key: getattr(data, key) for key in _SAME},
        "reason": "" if data.protected else data.reason[:LONGEST],
        "steps": data.total_steps,
        "duration_ms": data.total_duration_ms,
        "cost_usd": trial.cost_usd,
        "judges": [
            (n, one.fingerprint) for n, one in sorted(data.grader_results.items()) if not one.advisory
        ],
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
            version = content["baseline_version"]
            if version != VERSION:
                raise UsageError(
                    f"{file} is of form {version!r}, and this version reads form {VERSION}. {_AGAIN}"
                )
            rows = [self._read_row(one) for one in content["trials"]]
            selected, self._manifest = content["selected"], dict(content["manifest"])
            self._selected = None if selected is None else int(selected)
        except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
            why = str(error).partition("\n")[0]
            raise UsageError(f"{file} is not a baseline, or is damaged: {why}. {_AGAIN}") from None
        if not rows:
            raise UsageError(f"{file} has no trial, so there is nothing to compare with. {_AGAIN}")
        self.name, self.attempts = str(content.get("run", file.stem)), tuple(rows)
        # A merge of two branches in git may keep both lines of a trial.
        if len(self.trials) < len(rows):
            twice = next(one.last for one in self.trials if len(one.attempts) > 1)
            where = (
                f"trial {twice.trial} of {one_line(twice.query_id, 60)!r} by {one_line(twice.variant, 60)}"
            )
            raise UsageError(f"{file} is damaged: {where} is in it twice. {_AGAIN}")

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
        verdict = row["verdict"]
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
            grader_results={
                name: GraderResult(grader=name, verdict=verdict, fingerprint=fingerprint)
                for name, fingerprint in row["judges"]
            },
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
    check_run_to_compare(run)
    return run


def check_run_to_compare(run: StoredRun) -> None:
    """Refuse a run that nothing can be compared with.

    Raises:
        UsageError: it is none, has no result, is damaged, or its summary contradicts its records.
    """
    check_run(run)
    check_contradictions(run)
    if not run.summary.plain:
        raise UsageError(
            f"{format_path(run.folder)} has no finished attempt, so there is nothing to look at."
        )


_AGAIN = "Write it with `browsereval export RUN --to baseline -o FILE`"


# -- the gate


def lacks_baseline(gate: GateConfig) -> str:
    """Return what to say of rules that compare with nothing; "" if there are none."""
    if gate.baseline is not None or not gate.compares:
        return ""
    return (
        f"{gate.compares[0]} needs a baseline. Write `baseline: results/NAME/TIME-LETTERS`, or name a run on "
        "the command line (--eval-baseline=RUN)."
    )


def check_baseline(config: EvalConfig) -> None:
    """Refuse a gate whose baseline is not there, before anything is spent.

    Raises:
        ConfigError: with file and line.
    """
    if config.gate.baseline is None:
        if config.gate.compares:
            raise config.wrong(("gate", config.gate.compares[0]), lacks_baseline(config.gate))
        return
    try:
        check_readable(config.base_dir / config.gate.baseline)  # before a model is paid
    except UsageError as error:
        raise config.wrong(("gate", "baseline"), error) from None


def check_readable(place: Path) -> None:
    """Refuse what is neither a run nor the file of a baseline.

    Raises:
        UsageError: it is none, or the file is damaged.
    """
    if place.is_file():
        BaselineFile(place)
        return
    if not place.exists():
        raise UsageError(
            f"there is no file or run {format_path(place)}. {_AGAIN}, or name the folder of a run."
        )
    check_run(StoredRun(place))


def against_baseline(
    gate: GateConfig, run: StoredRun, *, left_out: Collection[str] = ()
) -> RunComparison | str | None:
    """Compare a run with the baseline of its gate; None if the gate has none.

    A side without a trial is not an error: the rules are missed then, and say why nothing
    can be compared.

    Args:
        gate: the rules, with the absolute path of the baseline.
        run: whose gate is decided.
        left_out: ids of tasks that do not count.

    Raises:
        UsageError: the baseline cannot be read, or has no task of the run.
    """
    if gate.baseline is None:
        return None
    margin = MARGIN if gate.max_drop is None else gate.max_drop
    baseline = read_run(gate.baseline)
    for one, label in ((baseline, "the baseline"), (run, "this run")):
        trials = one.summary.plain
        if all(trial.last.query_id in left_out for trial in trials):
            why = f"all that {label} has is in quarantine" if trials else f"{label} has no result"
            return f"no task was judged both here and in {one_line(baseline.name, 60)}: {why}"
    confidence = gate.confidence or CONFIDENCE
    return compare(baseline, run, margin=margin, confidence=confidence, left_out=left_out)
