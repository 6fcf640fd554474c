"""A pass rate corrected for the errors of the judge behind it, estimated from labels.

It stands beside the pass rate and never takes its place: it holds where the judge errs as often in the run as
on the labelled attempts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pytest_browsereval.analysis.passrate import PassRate, pass_rate
from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.agreement import Confusion, Estimate, rogan_gladen, share_json
from pytest_browsereval.graders.verdicts import PassWhen, Primary
from pytest_browsereval.hooks.controller import RunPart
from pytest_browsereval.model.digest import AttemptDigest
from pytest_browsereval.model.display import one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.stats.statistics import Share

# With fewer labelled attempts of a kind, passed or failed, nobody knows how often the judge errs.
LEAST = 10

_AGAIN = "Write it by `browsereval calibrate RUN --json FILE`"


@dataclass(frozen=True)
class Calibrated:
    """What labels say of a grader under one fingerprint."""

    grader: str
    fingerprint: str
    """Empty for grades that have none."""
    confusion: Confusion

    @property
    def sensitivity(self) -> Share:
        """Of what people pass, what it passes."""
        return self.confusion.shares["recall"]

    @property
    def specificity(self) -> Share:
        """Of what people fail, what it fails."""
        wrong = self.confusion.shares["false_positive_rate"]
        return Share(wrong.of - wrong.hits, wrong.of)


@dataclass(frozen=True)
class Correction:
    """The trials that one calibrated grader decides alone, and their pass rate corrected for its errors."""

    grader: str
    fingerprint: str
    """Under which it graded them."""
    seen: Share
    """What it passed of the judged trials that it decides alone."""
    labels: Calibrated | None = None
    """What people say of it; None if no grade of it is labelled."""
    corrected: Estimate | None = None
    """None if it is not to be corrected."""
    why_not: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        found, labels = self.corrected, self.labels
        return {
            "grader": self.grader,
            "fingerprint": self.fingerprint,
            "passed": self.seen.hits,
            "judged": self.seen.of,
            "value": found and found.value,
            "interval": found and found.interval.as_json(),
            "why_not": self.why_not,
            "labels": labels and labels.confusion.total,
            "sensitivity": labels and share_json(labels.sensitivity),
            "specificity": labels and share_json(labels.specificity),
        }


def read_calibration(file: Path) -> tuple[Calibrated, ...]:
    """Return what a file of ``browsereval calibrate --json`` says of its graders.

    Raises:
        UsageError: it is none, or says nothing.
    """
    try:
        found = TypeAdapter(tuple[Calibrated, ...]).validate_python(json.loads(file.read_bytes())["graders"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        why = str(error).partition("\n")[0]
        raise UsageError(
            f"{format_path(file)} is not a calibration, or is damaged: {why}. {_AGAIN}"
        ) from None
    # The file may be written by hand.
    if any(min(map(min, one.confusion.table)) < 0 for one in found):
        raise UsageError(f"{format_path(file)} is damaged: a count is less than 0. {_AGAIN}")
    if not any(one.confusion.total for one in found):
        raise UsageError(f"{format_path(file)} compares no grade with a label. {_AGAIN}")
    return found


def calibration_of(config: EvalConfig) -> tuple[Calibrated, ...] | None:
    """Return what labels say of the config's judges; None if it names no file.

    Raises:
        ConfigError: the file cannot be used; with file and line of the config.
    """
    if config.calibration is None:
        return None
    try:
        return read_calibration(config.base_dir / config.calibration)
    except UsageError as error:
        raise config.wrong(("calibration",), error) from None


def corrections(
    trials: Iterable[AttemptDigest], calibrated: Sequence[Calibrated], pass_when: PassWhen
) -> tuple[Correction, ...]:
    """Correct the pass rates of trials whose verdict is the grade of one calibrated grader.

    Trials that several graders decide together are in none of them, nor are errored ones.

    Args:
        trials: each by its last attempt.
        calibrated: what labels say of graders.
        pass_when: how grades make the verdict.

    Returns:
        One for each grader and fingerprint under which it decided, corrected or with why it is not.
    """
    names = {one.grader for one in calibrated}
    by_print: dict[tuple[str, str], list[AttemptDigest]] = {}
    for trial in trials:
        name = _decider(trial, pass_when)
        if trial.verdict is not Verdict.ERRORED and name in names:
            key = (name, trial.grader_results[name].fingerprint)
            by_print.setdefault(key, []).append(trial)
    labelled = {(one.grader, one.fingerprint): one for one in calibrated}
    return tuple(
        _correct(name, fingerprint, pass_rate(found), labelled)
        for (name, fingerprint), found in sorted(by_print.items())
    )


def _decider(trial: AttemptDigest, pass_when: PassWhen) -> str:
    """Return the grader whose grade is the verdict; "" if several decide."""
    deciding = [name for name, grade in trial.grader_results.items() if not grade.advisory]
    if isinstance(pass_when, Primary):
        return pass_when.primary if pass_when.primary in deciding else ""
    return deciding[0] if len(deciding) == 1 else ""


def _correct(
    name: str, fingerprint: str, rate: PassRate, labelled: Mapping[tuple[str, str], Calibrated]
) -> Correction:
    seen = rate.share
    # Without a fingerprint the judge may be another one than people have labelled.
    labels = labelled.get((name, fingerprint)) if fingerprint else None
    if labels is None:
        others = sorted(other for grader, other in labelled if grader == name)
        known = " and ".join(other or "one without a fingerprint" for other in others)
        why = f"it is not the judge that was calibrated: {fingerprint} here, {known} there"
        if not fingerprint:
            why = "its grades have no fingerprint, so it may be another judge than the calibrated one"
        return Correction(name, fingerprint, seen, why_not=why)
    sensitivity, specificity = labels.sensitivity, labels.specificity
    if min(sensitivity.of, specificity.of) < LEAST:
        why = (
            f"people labelled {sensitivity.of:,} attempts pass and {specificity.of:,} fail; at least {LEAST} "
            "of each are needed"
        )
        return Correction(name, fingerprint, seen, labels, why_not=why)
    if rate.is_of_one_task:
        why = f"all {seen.of:,} trials are of one task, which says nothing about others"
        return Correction(name, fingerprint, seen, labels, why_not=why)
    # Trials of one task are alike: as independent ones they would make the interval too narrow.
    found = rogan_gladen(seen, sensitivity, specificity, by=rate.by_task)
    if found is None:
        why = (
            f"it passes {count_of(sensitivity)} of what people pass and fails "
            f"{count_of(specificity)} of what people fail, which is no better than chance"
        )
        return Correction(name, fingerprint, seen, labels, why_not=why)
    return Correction(name, fingerprint, seen, labels, found)


def count_of(share: Share) -> str:
    """Return a share in words: ``27 of 30``."""
    return f"{share.hits:,} of {share.of:,}"


# -- what a run says of it


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
        digests = (trial.metadata for trial in summary.plain)
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
