"""Baselines: an earlier run as its folder, or as a small file that is committed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pytest_browsereval.commands.reporting import write
from pytest_browsereval.errors import TerminationReason, UsageError
from pytest_browsereval.features.compare.compare import RunComparison, compare
from pytest_browsereval.features.outcomes import RunOutcomes, check_run, read_outcomes
from pytest_browsereval.model.display import LONGEST, one_line
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.attempt import Line, make_attempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial
from pytest_browsereval.stats.paired import MARGIN
from pytest_browsereval.stats.statistics import CONFIDENCE

if TYPE_CHECKING:  # `compare` needs no config, which takes 0.2 s
    from pytest_browsereval.config import EvalConfig, GateConfig

# Of the format of the file.
VERSION = 1


def write_baseline(run: RunOutcomes, file: Path) -> None:
    """Write a run as a file for a repository: a line for each trial, sorted, so that changes can be read.

    Raises:
        UsageError: it cannot be written.
    """
    head = {
        "baseline_version": VERSION,
        "run": run.name,
        "selected": run.selected,
        "manifest": run.manifest,
    }
    trials = sorted(run.trials, key=_name_trial)
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
        "reason": data.reason[:LONGEST],
        "steps": data.total_steps,
        "duration_ms": data.total_duration_ms,
        "cost_usd": trial.cost_usd,
        "judges": [
            (n, one.fingerprint) for n, one in sorted(data.grader_results.items()) if not one.advisory
        ],
    }


def _read_row(row: dict[str, Any], file: Path) -> StoredTrial:
    """Return a trial by what ``_make_row`` has made of it: one attempt, of which no more is known.

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
        grader_results={n: GraderResult(grader=n, verdict=verdict, fingerprint=f) for n, f in row["judges"]},
    )
    return StoredTrial((make_attempt(record, StoredRun(file), Line(file.name, 0, 0, "")),))


def read_run(place: Path) -> RunOutcomes:
    """Return a run from its folder or from a baseline's file.

    Raises:
        UsageError: it is neither, has no result, or is damaged.
    """
    return _read_file(place) if place.is_file() else read_outcomes(place)


def _read_file(file: Path) -> RunOutcomes:
    try:
        content: dict[str, Any] = json.loads(file.read_bytes())
        version = content["baseline_version"]
        if version != VERSION:
            raise UsageError(
                f"{file} is of form {version!r}, and this version reads form {VERSION}. {_AGAIN}"
            )
        trials = tuple(_read_row(one, file) for one in content["trials"])
        selected, manifest = content["selected"], dict(content["manifest"])
        selected = None if selected is None else int(selected)
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        why = str(error).partition("\n")[0]
        raise UsageError(f"{file} is not a baseline, or is damaged: {why}. {_AGAIN}") from None
    if not trials:
        raise UsageError(f"{file} has no trial, so there is nothing to compare with. {_AGAIN}")
    # A merge of two branches in git may keep both lines of a trial.
    counts = Counter(map(_name_trial, trials))
    if twice := [key for key, count in counts.items() if count > 1]:
        query_id, variant, number = twice[0]
        message = (
            f"trial {number} of {one_line(query_id, 60)!r} by {one_line(variant, 60)} stands in it twice"
        )
        raise UsageError(f"{file} is damaged: {message}. {_AGAIN}")
    return RunOutcomes(str(content.get("run", file.stem)), file, trials, selected, manifest)


_AGAIN = "Write it by `browsereval baseline RUN FILE`"


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
        _read_file(place)
    else:
        check_run(place)


def against_baseline(
    gate: GateConfig, run: RunOutcomes, *, left_out: Collection[str] = ()
) -> RunComparison | str | None:
    """Compare a run with the baseline of its gate; None if the gate has none.

    A side without a trial is not an error: the rules are missed then, and say why nothing
    can be compared.

    Args:
        gate: the rules, with the absolute path of the baseline.
        run: as comparisons read it.
        left_out: ids of tasks that do not count.

    Raises:
        UsageError: the baseline cannot be read, or has no task of the run.
    """
    if gate.baseline is None:
        return None
    margin = MARGIN if gate.max_drop is None else gate.max_drop
    given = (read_run(gate.baseline), run)
    a, b = (_without(one, left_out) for one in given)
    for before, one, label in zip(given, (a, b), ("the baseline", "this run"), strict=True):
        if not one.trials:
            why = f"all that {label} has is in quarantine" if before.trials else f"{label} has no result"
            return f"no task was judged both here and in {one_line(a.name, 60)}: {why}"
    return compare(a, b, margin=margin, confidence=gate.confidence or CONFIDENCE)


def _without(run: RunOutcomes, left_out: Collection[str]) -> RunOutcomes:
    if not left_out:
        return run
    kept = tuple(trial for trial in run.trials if trial.last.query_id not in left_out)
    return replace(run, trials=kept)
