"""What a run's calibration says beside its pass rate: the rate corrected for the errors of its judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.features.labelling.correction import (
    Calibrated,
    Correction,
    calibration_of,
    corrections,
    count_of,
)
from pytest_browsereval.hooks.controller import RunPart
from pytest_browsereval.model.display import one_line, percent
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.run.active import ActiveRun


class Corrections(RunPart):
    """Reads the file of the config key ``calibration`` before the run, and goes by it at the end."""

    keys = (("calibration",),)

    def __init__(self) -> None:
        # Read once: a file that is changed during the run is not what was checked.
        self._calibrated: dict[ActiveRun, tuple[Calibrated, ...]] = {}

    def check(self, active_run: ActiveRun) -> None:
        """Read the file, before anything is spent.

        Raises:
            ConfigError: the file cannot be used; with file and line of the config.
        """
        if (calibrated := calibration_of(active_run.config)) is not None:
            self._calibrated[active_run] = calibrated

    def sum_up(self, active_run: ActiveRun, summary: RunSummary) -> tuple[dict[str, Any], list[str]]:
        """Return what ``summary.json`` has of it, and the lines of reports."""
        if (calibrated := self._calibrated.get(active_run)) is None:
            return {}, []
        digests = (trial.metadata for trial in summary.trials)
        found = corrections(digests, calibrated, active_run.config.pass_when)
        return {"pass_rate_corrected": [one.as_json() for one in found]}, list(draw_corrections(found))


def draw_corrections(found: Sequence[Correction]) -> Iterator[str]:
    """Yield the pass rates that are corrected for errors of judges, or why one is not."""
    if not found:
        yield "pass rate not corrected for errors of judges: no calibrated judge decides a trial alone"
    for one in found:
        if one.corrected is None or one.labels is None:
            yield f"pass rate not corrected for errors of {one.grader}: {one_line(one.why_not, 400)}"
            continue
        labels = one.labels
        yield (
            f"pass rate corrected for errors of {one.grader}: {percent(one.corrected.value)} (95 % interval "
            f"{format_interval(one.corrected.interval)}) of the {one.seen.of:,} judged trials that it "
            f"decides alone; by {labels.confusion.total:,} labelled attempts it passes "
            f"{count_of(labels.sensitivity)} of what people pass and fails "
            f"{count_of(labels.specificity)} of what people fail"
        )
