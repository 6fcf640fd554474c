"""Graders against people, as a function of run folders and labels, and whether they are good enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.features.labelling.agreement import Agreement, Confusion, Disagreement, People
from pytest_browsereval.features.labelling.labels import Label, LabelLine, match, settle_labels
from pytest_browsereval.model.display import digits_apart, format_count, percent, plain
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.attempt import GradeDigest, StoredAttempt
from pytest_browsereval.runs.run import StoredRun

_WORDS = {Verdict.PASSED: "pass", Verdict.FAILED: "fail"}


@dataclass(frozen=True)
class Calibration:
    """What the labels of some runs say of their graders."""

    runs: tuple[str, ...]
    attempts: int
    labelled: int
    """Attempts that people call pass or fail."""
    unclear: int
    tied: int
    """As many people say pass as fail."""
    unlabelled: int
    """Graded attempts without a label."""
    ungraded: int
    """Attempts that broke before a grader saw them; with or without a label."""
    labels: int
    """The last word of each labeller on each attempt."""
    peeked: int
    """Those of them that were given after their labeller had seen the grades."""
    homeless: tuple[LabelLine, ...]
    """Labels about no attempt of these runs."""
    people: tuple[People, ...]
    graders: tuple[Agreement, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        counts = ("attempts", "labelled", "unclear", "tied", "unlabelled", "ungraded", "labels")
        return {
            "runs": list(self.runs),
            **{name: getattr(self, name) for name in counts},
            "labels_after_grades_were_seen": self.peeked,
            "labels_without_an_attempt": [f"{line.place}: {line.label}" for line in self.homeless],
            "people": [pair.as_json() for pair in self.people],
            "graders": [grader.as_json() for grader in self.graders],
        }


def calibrate(
    runs: Sequence[StoredRun], lines: Sequence[LabelLine], graders: Collection[str] = ()
) -> Calibration:
    """Compare the grades of some runs with what people say.

    An attempt counts as the majority of its labellers has it; ties and attempts that are unclear to all are
    left out. Grades of one grader under different fingerprints are never put together.

    Args:
        runs: their folders.
        lines: the labels.
        graders: names of the graders to look at; all by default.

    Raises:
        UsageError: a label fits several attempts, no attempt was graded by a grader of that name, or a file
            is damaged.
    """
    attempts = [one for run in runs for one in run.attempts]
    by_attempt, homeless = match(lines, attempts)
    known = sorted({name for attempt in attempts for name in attempt.grader_results})
    if unknown := [name for name in graders if name not in known]:
        raise UsageError(
            f"no attempt of these runs was graded by {unknown[0]!r}.{nearest(unknown[0], known)} "
            f"Their graders: {', '.join(known) or 'none'}."
        )
    words = {folder: settle_labels(labels) for folder, labels in by_attempt.items()}
    labelled = {folder: str(word) for folder, word in words.items() if word in ("pass", "fail")}
    said = Counter(words.values())
    # A label that was taken back is on record, but says nothing.
    current = [one for labels in by_attempt.values() for one in labels.values() if one.label]
    return Calibration(
        runs=tuple(run.name for run in runs),
        attempts=len(attempts),
        labelled=len(labelled),
        unclear=said["unclear"],
        tied=said["tie"],
        unlabelled=sum(words.get(a.folder) is None and bool(a.grader_results) for a in attempts),
        ungraded=sum(not a.grader_results for a in attempts),
        labels=len(current),
        peeked=sum(label.saw_grades for label in current),
        homeless=tuple(homeless),
        people=tuple(_people(by_attempt.values())),
        graders=tuple(_agreements(attempts, labelled, graders)),
    )


def _people(labelled: Collection[Mapping[str, Label]]) -> Iterator[People]:
    """Yield each two labellers who both call some attempts pass or fail."""
    for pair in combinations(sorted({person for labels in labelled for person in labels}), 2):
        known = (labels for labels in labelled if {*pair} <= {*labels})
        both = [[str(labels[person].label)[:1] for person in pair] for labels in known]
        counts = [both.count([*said]) for said in ("pp", "pf", "ff", "fp")]
        if any(counts):
            yield People(*pair, Confusion(*counts))


def _agreements(
    attempts: Sequence[StoredAttempt], labelled: Mapping[Path, str], graders: Collection[str]
) -> Iterator[Agreement]:
    found = [
        (name, attempt, grade)
        for attempt in attempts
        for name, grade in attempt.grader_results.items()
        if not graders or name in graders
    ]
    judges: dict[str, set[str]] = {}
    for name, _, grade in found:
        if grade.fingerprint or grade.verdict is not Verdict.ERRORED:
            judges.setdefault(name, set()).add(grade.fingerprint)
    groups: dict[tuple[str, str], list[tuple[StoredAttempt, GradeDigest]]] = {}
    for name, attempt, grade in found:
        fingerprint, known = grade.fingerprint, judges.get(name, set())
        # A grader that breaks down leaves a grade without a fingerprint: of the only judge of its name.
        if not fingerprint and grade.verdict is Verdict.ERRORED and len(known) == 1:
            (fingerprint,) = known
        groups.setdefault((name, fingerprint), []).append((attempt, grade))
    for (name, fingerprint), group in groups.items():
        pairs = [(one, labelled[one.folder], grade) for one, grade in group if one.folder in labelled]
        counts = Counter((_WORDS.get(grade.verdict), label) for _, label, grade in pairs)
        wrong = [pair for pair in pairs if _WORDS.get(pair[2].verdict, pair[1]) != pair[1]]
        # What passes wrongly does most harm.
        wrong.sort(key=lambda pair: pair[2].verdict is not Verdict.PASSED)
        yield Agreement(
            grader=name,
            fingerprint=fingerprint,
            is_advisory=all(grade.advisory for _, grade in group),
            confusion=Confusion(
                true_positive=counts["pass", "pass"],
                false_positive=counts["pass", "fail"],
                true_negative=counts["fail", "fail"],
                false_negative=counts["fail", "pass"],
            ),
            missing=sum(one.folder in labelled and name not in one.grader_results for one in attempts),
            disagreements=tuple(_disagreement(*pair[:2], name) for pair in wrong),
            errored=tuple(_disagreement(*pair[:2], name) for pair in pairs if pair[2].verdict not in _WORDS),
        )


def _disagreement(attempt: StoredAttempt, label: str, name: str) -> Disagreement:
    grade = attempt.grades[name]
    reason = next(iter(grade.reasoning.strip().splitlines()), "").strip()
    return Disagreement(attempt.name, label, grade.verdict, reason, attempt.folder)


# -- the gate


@dataclass(frozen=True)
class Bar:
    """What a grader has to reach before it may decide."""

    min_kappa: float | None = None
    max_fpr: float | None = None
    is_strict: bool = False
    """True: the unfavourable end of the interval has to reach it, so that few labels prove nothing."""


def hold(calibration: Calibration, bar: Bar, graders: Collection[str] = ()) -> tuple[RuleResult, ...]:
    """Return what the bar says of each grader that decides verdicts.

    Args:
        calibration: of the runs.
        bar: what to reach; without any mark something must at least have been compared.
        graders: those that were named: they are held to the bar even if they are advisory.
    """
    held = [one for one in calibration.graders if one.grader in graders or not one.is_advisory]
    if any(one.n for one in held):
        return tuple(result for one in held for result in _rules(one, bar))
    message = (
        f"no grade that decides could be compared with a label: {calibration.labelled} of "
        f"{format_count(calibration.attempts, 'attempt')} labelled pass or fail. Label attempts that were "
        "graded, or name an advisory grader with --grader"
    )
    return (RuleResult("labels", is_met=False, message=message),)


def _rules(one: Agreement, bar: Bar) -> Iterator[RuleResult]:
    kappa, share = one.confusion.kappa, one.confusion.shares["false_positive_rate"]
    compared = format_count(one.n, "attempt")
    name = f"{one.grader} ({one.fingerprint})" if one.fingerprint else one.grader
    if bar.min_kappa is not None:
        is_met, message = (False, f"kappa is not defined where labels and grades say the same of {compared}")
        if kappa is not None:
            reached = kappa.interval.low if bar.is_strict else kappa.value
            digits = digits_apart(bar.min_kappa, kappa.value, reached, write=plain, least=2)
            begin = plain(kappa.interval.low, digits)
            end = f", whose 95 % interval begins at {begin}," if bar.is_strict else ""
            is_met = reached >= bar.min_kappa
            relation = "reaches" if is_met else "is under"
            message = f"kappa {plain(kappa.value, digits)}{end} {relation} {bar.min_kappa:g}"
        yield RuleResult(f"min_kappa[{one.grader}]", is_met, f"{name}: {message}")
    if bar.max_fpr is not None:
        is_met, message = False, f"what it passes wrongly is unknown: no label of {compared} is fail"
        if share.value is not None and share.interval is not None:
            reached = share.interval.high if bar.is_strict else share.value
            digits = digits_apart(bar.max_fpr, share.value, reached)
            last = percent(share.interval.high, digits)
            end = f", whose 95 % interval ends at {last}," if bar.is_strict else ""
            is_met = reached <= bar.max_fpr
            relation = f"{'is within' if is_met else 'is over'} {percent(bar.max_fpr, digits)}"
            rate = f"{percent(share.value, digits)} ({share.hits}/{share.of})"
            message = f"false-positive rate {rate}{end} {relation}"
        yield RuleResult(f"max_fpr[{one.grader}]", is_met, f"{name}: {message}")
