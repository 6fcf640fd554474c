"""Graders against people, as a function of run folders and labels, and whether they are good enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError, nearest
from pytest_browsereval.features.labelling.agreement import count_pairs, measure
from pytest_browsereval.features.labelling.labels import Label, LabelLine, match, settle_labels
from pytest_browsereval.model.display import digits_apart, format_count, percent, plain
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.attempt import GradeDigest, StoredAttempt
from pytest_browsereval.runs.run import StoredRun

_WORDS = {Verdict.PASSED: "pass", Verdict.FAILED: "fail"}


def calibrate(
    runs: Sequence[StoredRun], lines: Sequence[LabelLine], graders: Collection[str] = ()
) -> dict[str, Any]:
    """Compare the grades of some runs with what people say, and return it as the report's JSON.

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
    known = [*dict.fromkeys(name for attempt in attempts for name in attempt.grader_results)]
    if unknown := [name for name in graders if name not in known]:
        has = f"{nearest(unknown[0], known)} Their graders: {', '.join(sorted(known)) or 'none'}."
        raise UsageError(f"no attempt of these runs was graded by {unknown[0]!r}.{has}")
    words = {folder: settle_labels(labels) for folder, labels in by_attempt.items()}
    said = Counter(words.values())
    # A label that was taken back is on record, but says nothing.
    current = [one for labels in by_attempt.values() for one in labels.values() if one.label]
    return {
        "runs": [run.name for run in runs],
        "attempts": len(attempts),
        "labelled": said["pass"] + said["fail"],
        "unclear": said["unclear"],
        "tied": said["tie"],
        "unlabelled": sum(words.get(a.folder) is None and bool(a.grader_results) for a in attempts),
        "ungraded": sum(not a.grader_results for a in attempts),
        "labels": len(current),
        "labels_after_grades_were_seen": sum(label.saw_grades for label in current),
        "labels_without_an_attempt": [f"{place}: {label}" for place, label in homeless],
        "people": list(_compare_people(by_attempt.values())),
        "graders": list(_compare_graders(attempts, words, graders or known)),
    }


def _compare_people(labelled: Collection[Mapping[str, Label]]) -> Iterator[dict[str, Any]]:
    """Yield each two labellers who both call some attempts pass or fail."""
    for first, second in combinations(sorted({person for labels in labelled for person in labels}), 2):
        both = (labels for labels in labelled if {first, second} <= {*labels})
        found = measure(count_pairs([(str(one[first].label), str(one[second].label)) for one in both]))
        if found["n"]:
            figures = {"n": found["n"], "agreement": found["accuracy"], "kappa": found["kappa"]}
            yield {"labellers": [first, second], **figures}


def _compare_graders(
    attempts: Sequence[StoredAttempt], words: Mapping[Path, str | None], graders: Collection[str]
) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[str, str], list[tuple[StoredAttempt, GradeDigest]]] = {}
    for name in graders:
        found = [(one, one.grader_results[name]) for one in attempts if name in one.grader_results]
        known = {grade.fingerprint for _, grade in found if grade.verdict is not Verdict.ERRORED}
        for attempt, grade in found:
            # A grader that breaks down leaves a grade without a fingerprint: of the only judge of its name.
            is_lost = not grade.fingerprint and grade.verdict is Verdict.ERRORED and len(known) == 1
            fingerprint = next(iter(known)) if is_lost else grade.fingerprint
            groups.setdefault((name, fingerprint), []).append((attempt, grade))
    people = {folder: word for folder, word in words.items() if word in ("pass", "fail")}
    for (name, fingerprint), group in groups.items():
        pairs = [(one, people[one.folder], grade) for one, grade in group if one.folder in people]
        errored = [pair for pair in pairs if pair[2].verdict not in _WORDS]
        wrong = [pair for pair in pairs if _WORDS.get(pair[2].verdict, pair[1]) != pair[1]]
        # What passes wrongly does most harm.
        wrong.sort(key=lambda pair: pair[2].verdict is not Verdict.PASSED)
        judged = [(_WORDS[grade.verdict], label) for _, label, grade in pairs if grade.verdict in _WORDS]
        yield {
            "grader": name,
            "fingerprint": fingerprint,
            "advisory": all(grade.advisory for _, grade in group),
            "errored": len(errored),
            "not_graded": sum(one.folder in people and name not in one.grader_results for one in attempts),
            **measure(count_pairs(judged)),
            "disagreements": [_describe(one, label, name) for one, label, _ in wrong],
            "errored_grades": [_describe(one, label, name) for one, label, _ in errored],
        }


def _describe(attempt: StoredAttempt, label: str, name: str) -> dict[str, str]:
    grade = attempt.grades[name]
    reason = next(iter(grade.reasoning.strip().splitlines()), "").strip()
    folder = str(attempt.folder)
    return {
        "attempt": attempt.name,
        "label": label,
        "grade": grade.verdict,
        "reason": reason,
        "folder": folder,
    }


# -- the gate


@dataclass(frozen=True)
class Bar:
    """What a grader has to reach before it may decide."""

    min_kappa: float | None = None
    max_fpr: float | None = None
    is_strict: bool = False
    """True: the unfavourable end of the interval has to reach it, so that few labels prove nothing."""


def hold(found: Mapping[str, Any], bar: Bar, graders: Collection[str] = ()) -> tuple[RuleResult, ...]:
    """Return what the bar says of each grader that decides verdicts.

    Args:
        found: as ``calibrate`` returns it.
        bar: what to reach; without any mark something must at least have been compared.
        graders: those that were named: they are held to the bar even if they are advisory.
    """
    held = [one for one in found["graders"] if one["grader"] in graders or not one["advisory"]]
    if any(one["n"] for one in held):
        return tuple(result for one in held for result in _rules(one, bar))
    message = (
        f"no grade that decides could be compared with a label: {found['labelled']} of "
        f"{format_count(found['attempts'], 'attempt')} labelled pass or fail. Label attempts that were "
        "graded, or name an advisory grader with --grader"
    )
    return (RuleResult("labels", is_met=False, message=message),)


def _rules(one: Mapping[str, Any], bar: Bar) -> Iterator[RuleResult]:
    kappa, rate = one["kappa"], one["false_positive_rate"]
    compared = format_count(one["n"], "attempt")
    name = f"{one['grader']} ({one['fingerprint']})" if one["fingerprint"] else one["grader"]
    if (bound := bar.min_kappa) is not None:
        is_met, message = False, f"kappa is not defined: all labels and grades of {compared} are the same"
        if kappa is not None:
            value, low = kappa["value"], kappa["interval"][0]
            reached = low if bar.is_strict else value
            digits = digits_apart(bound, value, reached, write=plain, least=2)
            end = f", whose 95 % interval begins at {plain(low, digits)}," * bar.is_strict
            is_met = reached >= bound
            relation = "reaches" if is_met else "is under"
            message = f"kappa {plain(value, digits)}{end} {relation} {bound:g}"
        yield RuleResult(f"min_kappa[{one['grader']}]", is_met, f"{name}: {message}")
    if (bound := bar.max_fpr) is not None:
        is_met, message = False, f"the false-positive rate is unknown: of {compared}, none is labelled fail"
        if rate["of"]:
            value, high = rate["value"], rate["interval"][1]
            reached = high if bar.is_strict else value
            digits = digits_apart(bound, value, reached)
            end = f", whose 95 % interval ends at {percent(high, digits)}," * bar.is_strict
            is_met = reached <= bound
            relation = "is within" if is_met else "is over"
            counts = f"{percent(value, digits)} ({rate['hits']}/{rate['of']})"
            message = f"false-positive rate {counts}{end} {relation} {percent(bound, digits)}"
        yield RuleResult(f"max_fpr[{one['grader']}]", is_met, f"{name}: {message}")
