"""Beyond single verdicts: repeats, quarantine and resumes of a run, as the analysis has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.quarantine import find_quarantined
from pytest_browsereval.config import GateConfig, gate_from
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.shared.manifest_lines import describe_resumes, read_resumes
from pytest_browsereval.model.display import one_line
from pytest_browsereval.registry import Registry
from pytest_browsereval.runs.repeats import TaskRepeats
from pytest_browsereval.runs.summary import RunSummary


def repeats_of(summary: RunSummary) -> dict[str, Any] | None:
    """Return what repeated trials say of each other, and each task's own; None where nothing is repeated."""
    found = summary.repeats
    if found is None:
        return None
    whole = found.as_json()
    del whole["unsteady"]
    return {**whole, "each": [_task(task, found.k) for task in found.tasks]}


def _task(task: TaskRepeats, k: int) -> list[Any]:
    rates = [float(task.pass_at(k)), float(task.pass_hat(k))] if task.judged >= k else [None, None]
    counts = [task.passed, task.failed, task.errored]
    return [task.query_id, task.variant, str(task.stability), *counts, *rates]


def quarantine_of(block: Any, summary: RunSummary) -> dict[str, dict[str, str]]:
    """Return which rows the run's own gate leaves out, and whose time is over, each with its last day.

    Args:
        block: of the gate, as the run has it.
        summary: of the run.
    """
    gate = _gate(block)
    out = find_quarantined(gate, (trial.last.started_at for trial in summary.plain))
    days = {query_id: last.isoformat() for query_id, last in gate.quarantine.items()}
    return {
        "now": {query_id: day for query_id, day in days.items() if query_id in out},
        "over": {query_id: day for query_id, day in days.items() if query_id not in out},
    }


def _gate(block: Any) -> GateConfig:
    try:
        if isinstance(block, dict):  # rules of plug-ins are not needed here, and may not be installed
            block = {key: value for key, value in block.items() if key != "rules"}
        return gate_from(block, name="manifest.json", registry=Registry) or GateConfig()
    except ConfigError:  # of another version, or damaged: the page shows the rest
        return GateConfig()


def resumes_of(run: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return when and how the run was resumed, a line each."""
    return [one_line(line) for line in describe_resumes(manifest, read_resumes(run))]
