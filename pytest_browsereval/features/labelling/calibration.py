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
from pytest_browsereval.features.labelling.labels import LabelLine, Matched, match, settle_labels
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
    matched = match(lines, attempts)
    known = sorted({name for attempt in attempts for name in attempt.grader_results})
    if unknown := [name for name in graders if name not in known]:
        raise UsageError(
            f"no attempt of these runs was graded by {unknown[0]!r}.{nearest(unknown[0], known)} "
            f"Their graders: {', '.join(known) or 'none'}."
        )
    words = {folder: settle_labels(labels) for folder, labels in matched.by_attempt.items()}
    labelled = {folder: str(word) for folder, word in words.items() if word in ("pass", "fail")}
    said = Counter(words.values())
    # A label that was taken back is on record, but says nothing.
    current = [one for labels in matched.by_attempt.values() for one in labels.values() if one.label]
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
        homeless=matched.homeless,
        people=tuple(_people(matched)),
        graders=tuple(_agreements(attempts, labelled, graders)),
    )


def _people(matched: Matched) -> Iterator[People]:
    """Yield each two labellers who both call some attempts pass or fail."""
    people = sorted({person for labels in matched.by_attempt.values() for person in labels})
    for pair in combinations(people, 2):
        both = [
            [str(labels[person].label)[:1] for person in pair]
            for labels in matched.by_attempt.values()
            if {*pair} <= {*labels}
        ]
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
            errored=tuple(
                _disagreement(*pair[:2], name) for pair in pairs if pair[2].verdict is Verdict.ERRORED
            ),
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
    message = ""
    if not calibration.graders:
        message = "no attempt of these runs has a grade"
    elif not held:
        message = "all graders are advisory, so none was compared with the limits. Name one by --grader"
    elif not calibration.labelled:
        message = "no attempt is labelled pass or fail, so there is nothing to compare"
    elif not any(one.n for one in held):
        message = "no labelled attempt has a grade that passed or failed, so there is nothing to compare"
    if message:
        return (RuleResult("labels", is_met=False, message=message),)
    return tuple(result for one in held for result in _rules(one, bar))


def _rules(one: Agreement, bar: Bar) -> Iterator[RuleResult]:
    name = f"{one.grader} ({one.fingerprint})" if one.fingerprint else one.grader
    for key, mark, compare in (
        ("min_kappa", bar.min_kappa, _compare_kappa),
        ("max_fpr", bar.max_fpr, _compare_fpr),
    ):
        if mark is not None:
            is_met, message = compare(one, mark, is_strict=bar.is_strict)
            yield RuleResult(f"{key}[{one.grader}]", is_met, f"{name}: {message}")


def _compare_kappa(one: Agreement, floor: float, *, is_strict: bool) -> tuple[bool, str]:
    kappa = one.confusion.kappa
    if not one.n:
        return False, "no labelled attempt has a passed or failed grade of it, so there is nothing to compare"
    if kappa is None:
        counted = format_count(one.n, "attempt")
        return False, f"kappa is not defined where labels and grades say the same of {counted}"
    reached = kappa.interval.low if is_strict else kappa.value
    digits = digits_apart(floor, kappa.value, reached, write=plain, least=2)
    end = f", whose 95 % interval begins at {plain(kappa.interval.low, digits)}," if is_strict else ""
    relation = "reaches" if reached >= floor else "is under"
    return reached >= floor, f"kappa {plain(kappa.value, digits)}{end} {relation} {floor:g}"


def _compare_fpr(one: Agreement, ceiling: float, *, is_strict: bool) -> tuple[bool, str]:
    share = one.confusion.shares["false_positive_rate"]
    if share.value is None or share.interval is None:
        return False, "no compared attempt is labelled fail, so what it passes wrongly is unknown"
    reached = share.interval.high if is_strict else share.value
    digits = digits_apart(ceiling, share.value, reached)
    end = f", whose 95 % interval ends at {percent(share.interval.high, digits)}," if is_strict else ""
    relation = f"{'is within' if reached <= ceiling else 'is over'} {percent(ceiling, digits)}"
    rate = f"false-positive rate {percent(share.value, digits)} ({share.hits}/{share.of})"
    return reached <= ceiling, f"{rate}{end} {relation}"
