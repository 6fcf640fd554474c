"""Report of graders against labels of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.labelling.agreement import Agreement, Disagreement, People
from pytest_browsereval.features.labelling.calibration import Calibration
from pytest_browsereval.model.display import format_count, join_first, one_line, percent
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.stats.statistics import Interval

_NAMES = {
    "accuracy": ("accuracy", "grades that people agree with"),
    "precision": ("precision", "of what it passes, people pass"),
    "recall": ("recall", "of what people pass, it passes"),
    "false_positive_rate": ("FPR", "of what people fail, it passes"),
    "false_negative_rate": ("FNR", "of what people pass, it fails"),
}
ADVICE = (
    "A grader below the bar should not decide. Write `advisory: true` in its block: its grades are then "
    "shown with the others and decide no verdict."
)


def make_report(calibration: Calibration, rules: Sequence[RuleResult]) -> Report:
    """Return the report.

    Args:
        calibration: of the runs.
        rules: what the bar says.
    """
    deciding = tuple(f"[{one.grader}]" for one in calibration.graders if not one.is_advisory)
    said = (f"{'met' if rule.is_met else 'NOT MET'}: {rule.message}" for rule in rules)
    results = [{"name": rule.name, "met": rule.is_met, "message": rule.message} for rule in rules]
    return Report(
        title="Graders against people",
        facts=[*_list_facts(calibration), *map(_describe_people, calibration.people), *said],
        tables=[table for one in calibration.graders for table in _tabulate(one, calibration)],
        notes=[ADVICE] if any(not rule.is_met and rule.name.endswith(deciding) for rule in rules) else [],
        content=lambda: {**calibration.as_json(), "rules": results},
    )


def _list_facts(calibration: Calibration) -> Iterator[str]:
    """Yield in a sentence each what was compared, and what was left out and why."""
    one = calibration
    of_all = f"{one.labelled} of {format_count(one.attempts, 'attempt')}"
    yield f"{of_all} are labelled pass or fail ({', '.join(one.runs)})."
    left = {
        "labelled unclear": one.unclear,
        "tied between labellers": one.tied,
        "without a label": one.unlabelled,
        "errored before they were graded": one.ungraded,
    }
    if any(left.values()):
        yield "Left out: " + ", ".join(f"{count} {why}" for why, count in left.items() if count) + "."
    if one.homeless:
        message = join_first([f"{line.place} ({line.label})" for line in one.homeless], 3, "; ")
        yield f"Labels without an attempt in these runs: {len(one.homeless)}. {message}"
    if one.peeked:
        of_labels = f"{one.peeked} of {format_count(one.labels, 'label')}"
        yield f"{of_labels} were given after the labeller had seen the grades."
    names = Counter(grader.grader for grader in one.graders)
    if several := [name for name, count in names.items() if count > 1]:
        yield (
            f"Grades under different fingerprints are not combined: {', '.join(several)}. The config "
            "names one grader, but the judge was not the same."
        )


def _describe_people(pair: People) -> str:
    names = f"{one_line(pair.first or 'unnamed', 40)} and {one_line(pair.second or 'unnamed', 40)}"
    share, kappa = pair.confusion.shares["accuracy"], pair.confusion.kappa
    agreed = "none" if share.value is None else f"{percent(share.value)}, {_percents(share.interval)}"
    beyond = f", kappa {kappa.value:.2f} ({_plain(kappa.interval)})" if kappa else ""
    return (
        f"{names} agree on {share.hits} of {share.of} ({agreed}){beyond}: the most that can be "
        "asked of a grader."
    )


def _tabulate(one: Agreement, calibration: Calibration) -> Iterator[Table]:
    marks = filter(None, (one.grader, one.fingerprint, "advisory" if one.is_advisory else ""))
    counts = [
        Row((f"grade {word}", *map(str, row)))
        for word, row in zip(("passed", "failed"), one.confusion.table, strict=True)
    ]
    others = ((len(one.errored), "errored"), (one.missing, "not graded by it"))
    left_out = "".join(f", {count} {word}" for count, word in others if count)
    about = [f"compared {one.n} of {calibration.labelled} labelled attempts{left_out}"]
    head = ("", "label pass", "label fail")
    yield Table(head if one.n else (), counts if one.n else (), " · ".join(marks), about, "lrr")
    if one.n:
        yield Table(("figure", "value", "95 % interval", "meaning"), list(_figures(one)), aligns="lrrl")
    for title, found in (
        ("disagreements", one.disagreements),
        ("errored grades, excluded from these figures", one.errored),
    ):
        if found:
            columns = ("attempt", "label", "grade", "reason")
            yield Table(columns, list(map(_make_row, found)), title, details="folder")


def _make_row(one: Disagreement) -> Row:
    sentence = f"{one_line(one.attempt, 60)}: label {one.label}, grade {one.grade}. {one_line(one.reason)}"
    return Row((one.attempt, one.label, str(one.grade), one.reason), sentence, [format_path(one.folder)])


def _figures(one: Agreement) -> Iterator[Row]:
    for key, share in one.confusion.shares.items():
        name, meaning = _NAMES[key]
        if share.value is None or share.interval is None:
            yield Row((name, "none", "", meaning))
        else:
            yield Row((name, percent(share.value), _percents(share.interval), meaning))
    kappa = one.confusion.kappa
    if kappa is None:
        yield Row(("kappa", "none", "", "not defined: all values are the same"))
    else:
        yield Row(("kappa", f"{kappa.value:.2f}", _plain(kappa.interval), "agreement beyond chance"))


def _percents(interval: Interval | None) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}" if interval else ""


def _plain(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"
