"""Report of graders against labels of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.model.display import format_count, join_first, one_line, percent, plain
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.report import Report, Row, Table

_NAMES = {
    "accuracy": ("accuracy", "grades that people agree with"),
    "precision": ("precision", "share that people pass of those that the grader passes"),
    "recall": ("recall", "share that the grader passes of those that people pass"),
    "false_positive_rate": ("FPR", "share that the grader passes of those that people fail"),
    "false_negative_rate": ("FNR", "share that the grader fails of those that people pass"),
}
ADVICE = (
    "A grader below the bar should not decide. Write `advisory: true` in its block: its grades are then "
    "shown with the others and decide no verdict."
)


def make_report(found: Mapping[str, Any], rules: Sequence[RuleResult]) -> Report:
    """Return the report.

    Args:
        found: as ``calibrate`` returns it.
        rules: what the bar says.
    """
    deciding = tuple(f"[{one['grader']}]" for one in found["graders"] if not one["advisory"])
    said = (f"{'met' if rule.is_met else 'NOT MET'}: {rule.message}" for rule in rules)
    results = [{"name": rule.name, "met": rule.is_met, "message": rule.message} for rule in rules]
    return Report(
        title="Graders against people",
        facts=[*_list_facts(found), *map(_describe_people, found["people"]), *said],
        tables=[table for one in found["graders"] for table in _tabulate(one, found["labelled"])],
        notes=[ADVICE] if any(not rule.is_met and rule.name.endswith(deciding) for rule in rules) else [],
        content=lambda: {**found, "rules": results},
    )


def _list_facts(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield in a sentence each what was compared, and what was left out and why."""
    of_all = f"{found['labelled']} of {format_count(found['attempts'], 'attempt')}"
    yield f"{of_all} are labelled pass or fail ({', '.join(found['runs'])})."
    left = {
        "labelled unclear": found["unclear"],
        "tied between labellers": found["tied"],
        "without a label": found["unlabelled"],
        "errored before they were graded": found["ungraded"],
    }
    if any(left.values()):
        yield "Left out: " + ", ".join(f"{count} {why}" for why, count in left.items() if count) + "."
    if homeless := found["labels_without_an_attempt"]:
        yield f"Labels without an attempt in these runs: {len(homeless)}. {join_first(homeless, 3, '; ')}"
    if peeked := found["labels_after_grades_were_seen"]:
        of_labels = f"{peeked} of {format_count(found['labels'], 'label')}"
        yield f"{of_labels} were given after the labeller had seen the grades."
    names = Counter(one["grader"] for one in found["graders"])
    if several := [name for name, count in names.items() if count > 1]:
        yield (
            f"Grades under different fingerprints are not combined: {', '.join(several)}. The config "
            "names one grader, but the judge was not the same."
        )


def _describe_people(pair: Mapping[str, Any]) -> str:
    names = " and ".join(one_line(person or "unnamed", 40) for person in pair["labellers"])
    share, kappa = pair["agreement"], pair["kappa"]
    beyond = f", kappa {kappa['value']:.2f} ({_plain(kappa['interval'])})" if kappa else ""
    return (
        f"{names} agree on {share['hits']} of {share['of']} ({percent(share['value'])}, "
        f"{_percents(share['interval'])}){beyond}: the most that can be asked of a grader."
    )


def _tabulate(one: Mapping[str, Any], labelled: int) -> Iterator[Table]:
    marks = filter(None, (one["grader"], one["fingerprint"], "advisory" if one["advisory"] else ""))
    counts = one["confusion"]
    rows = [
        Row(("grade passed", str(counts["true_positive"]), str(counts["false_positive"]))),
        Row(("grade failed", str(counts["false_negative"]), str(counts["true_negative"]))),
    ]
    others = ((one["errored"], "errored"), (one["not_graded"], "not graded by it"))
    left_out = "".join(f", {count} {word}" for count, word in others if count)
    about = [f"compared {one['n']} of {labelled} labelled attempts{left_out}"]
    head = ("", "label pass", "label fail")
    yield Table(head if one["n"] else (), rows if one["n"] else (), " · ".join(marks), about, "lrr")
    if one["n"]:
        yield Table(("figure", "value", "95 % interval", "meaning"), list(_figures(one)), aligns="lrrl")
    for title, found in (
        ("disagreements", one["disagreements"]),
        ("errored grades, excluded from these figures", one["errored_grades"]),
    ):
        if found:
            columns = ("attempt", "label", "grade", "reason")
            yield Table(columns, list(map(_make_row, found)), title, details="folder")


def _make_row(one: Mapping[str, str]) -> Row:
    said = f"label {one['label']}, grade {one['grade']}. {one_line(one['reason'])}"
    cells = (one["attempt"], one["label"], one["grade"], one["reason"])
    return Row(cells, f"{one_line(one['attempt'], 60)}: {said}", [format_path(Path(one["folder"]))])


def _figures(one: Mapping[str, Any]) -> Iterator[Row]:
    for key, (name, meaning) in _NAMES.items():
        share, kappa = one[key], one["kappa"]
        if share["of"]:
            yield Row((name, percent(share["value"]), _percents(share["interval"]), meaning))
        else:
            yield Row((name, "none", "", meaning))
    if kappa is None:
        yield Row(("kappa", "none", "", "not defined: all values are the same"))
    else:
        yield Row(("kappa", f"{kappa['value']:.2f}", _plain(kappa["interval"]), "agreement beyond chance"))


def _percents(interval: Sequence[float]) -> str:
    return " to ".join(map(percent, interval))


def _plain(interval: Sequence[float]) -> str:
    return " to ".join(map(plain, interval))
