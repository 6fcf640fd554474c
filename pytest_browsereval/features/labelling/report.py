"""Report of graders against human labels: for a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.labelling.agreement import Agreement, Disagreement, People
from pytest_browsereval.features.labelling.calibration import Calibration
from pytest_browsereval.model.display import format_count, join_first, one_line, percent, wrap_text
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.markdown import draw_table, quote_text
from pytest_browsereval.report.table import count_rest
from pytest_browsereval.stats.statistics import Interval

# Of a kind; `--json` has all.
MOST_LISTED = 20

WIDTH = 80
_NAMES = {
    "accuracy": ("accuracy", "grades that people agree with"),
    "precision": ("precision", "of what it passes, people pass"),
    "recall": ("recall", "of what people pass, it passes"),
    "false_positive_rate": ("FPR", "of what people fail, it passes"),
    "false_negative_rate": ("FNR", "of what people pass, it fails"),
}
ADVICE = (
    "A grader below the bar should not decide. Write `advisory: true` in its block: its grades are then "
    "shown beside the others and decide no verdict."
)


def text(calibration: Calibration, rules: Sequence[RuleResult], width: int = WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal.

    Args:
        calibration: of the runs.
        rules: what the bar says.
        width: columns of the terminal.
    """
    for fact in facts(calibration):
        yield from wrap_text(fact, width)
    for pair in calibration.people[:MOST_LISTED]:
        yield from wrap_text(_people(pair), width)
    for one in calibration.graders:
        yield ""
        yield from _grader(one, calibration, width)
    if rules:
        yield ""
        for rule in rules:
            yield from wrap_text(
                f"{'met' if rule.is_met else 'NOT MET'}: {one_line(rule.message, 400)}", width
            )
    if is_below(calibration, rules):
        yield from wrap_text(ADVICE, width)


def is_below(calibration: Calibration, rules: Iterable[RuleResult]) -> bool:
    """Whether a grader that decides verdicts has missed the bar."""
    deciding = {f"[{one.grader}]" for one in calibration.graders if not one.is_advisory}
    return any(not rule.is_met and rule.name.endswith(tuple(deciding)) for rule in rules)


def facts(calibration: Calibration) -> Iterator[str]:
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
            f"Grades under different fingerprints are not put together: {', '.join(several)}. What is the "
            "same grader to its config was not the same judge."
        )


def _people(pair: People) -> str:
    names = f"{one_line(pair.first or 'unnamed', 40)} and {one_line(pair.second or 'unnamed', 40)}"
    share, kappa = pair.agreement, pair.kappa
    agreed = "none" if share.value is None else f"{percent(share.value)}, {_percents(share.interval)}"
    beyond = f", kappa {kappa.value:.2f} ({_plain(kappa.interval)})" if kappa else ""
    return (
        f"{names} agree on {share.hits} of {share.of} ({agreed}){beyond}: the most that can be "
        "asked of a grader."
    )


# -- the terminal


def _grader(one: Agreement, calibration: Calibration, width: int) -> Iterator[str]:
    marks = [one_line(one.fingerprint)] * bool(one.fingerprint) + ["advisory"] * one.is_advisory
    yield from wrap_text(" · ".join([one_line(one.grader), *marks]), width)
    yield from _indent(_describe_compared(one, calibration), width, "  ")
    if one.n:
        (tp, fp), (fn, tn) = one.confusion.table
        yield f"  {'':<13}{'label pass':>12}{'label fail':>12}"
        yield f"  {'grade passed':<13}{tp:>12}{fp:>12}"
        yield f"  {'grade failed':<13}{fn:>12}{tn:>12}"
        yield f"  {'':<13}{'value':>12}   95 % interval"
        for name, value, interval, note in _figures(one):
            yield f"  {name:<13}{value:>12}   {interval:<19}{note}".rstrip()
    yield from _list_disagreements("disagreements", one.disagreements, width)
    yield from _list_disagreements("errored grades, in none of these figures", one.errored, width)


def _describe_compared(one: Agreement, calibration: Calibration) -> str:
    parts = [f"compared {one.n} of {calibration.labelled} labelled attempts"]
    if one.errored:
        parts.append(f"{len(one.errored)} errored")
    if one.missing:
        parts.append(f"{one.missing} not graded by it")
    return ", ".join(parts)


def _figures(one: Agreement) -> Iterator[tuple[str, str, str, str]]:
    for key, share in one.confusion.shares.items():
        name, meaning = _NAMES[key]
        if share.value is None or share.interval is None:
            yield name, "none", "", meaning
        else:
            yield name, percent(share.value), _percents(share.interval), meaning
    kappa = one.confusion.kappa
    if kappa is None:
        yield "kappa", "none", "", "not defined: all is the same"
    else:
        yield "kappa", f"{kappa.value:.2f}", _plain(kappa.interval), "agreement beyond chance"


def _list_disagreements(title: str, found: Sequence[Disagreement], width: int) -> Iterator[str]:
    if not found:
        return
    yield f"  {title}"
    for one in found[:MOST_LISTED]:
        message = (
            f"{one_line(one.attempt, 60)}: label {one.label}, grade {one.verdict}. {one_line(one.reason)}"
        )
        yield from _indent(message, width, "    ")
        yield f"      {format_path(one.folder)}"
    yield from (f"    {line}" for line in count_rest(len(found), MOST_LISTED))


def _indent(text: str, width: int, indent: str) -> Iterator[str]:
    yield from (indent + line for line in wrap_text(text, width - len(indent)))


def _percents(interval: Interval | None) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}" if interval else ""


def _plain(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


# -- Markdown


def markdown(calibration: Calibration, rules: Sequence[RuleResult]) -> str:
    """Return the report as Markdown.

    Args:
        calibration: of the runs.
        rules: what the bar says.
    """
    lines = ["# Graders against people", ""]
    lines += [f"- {quote_text(fact)}" for fact in facts(calibration)]
    lines += [f"- {quote_text(_people(pair))}" for pair in calibration.people]
    lines += [f"- **{'met' if rule.is_met else 'not met'}**: {quote_text(rule.message)}" for rule in rules]
    if is_below(calibration, rules):
        lines.append(f"- {ADVICE}")
    for one in calibration.graders:
        lines += _section(one, calibration)
    return "\n".join(lines) + "\n"


def _section(one: Agreement, calibration: Calibration) -> Iterator[str]:
    yield from ("", f"## {quote_text(one.grader)}{' (advisory)' * one.is_advisory}", "")
    if one.fingerprint:
        yield from (f"Fingerprint: {quote_text(one.fingerprint)}", "")
    yield f"{_describe_compared(one, calibration).capitalize()}."
    if one.n:
        (tp, fp), (fn, tn) = one.confusion.table
        rows = (("grade passed", str(tp), str(fp)), ("grade failed", str(fn), str(tn)))
        yield from ("", *draw_table(("", "label pass", "label fail"), rows, "lrr"))
        names = ("figure", "value", "95 % interval", "meaning")
        yield from ("", *draw_table(names, _figures(one), "lrll"))
    for title, found in (("Disagreements", one.disagreements), ("Errored grades", one.errored)):
        if found:
            head = ("attempt", "label", "grade", "reason", "folder")
            cells = [(d.attempt, d.label, str(d.verdict), d.reason, format_path(d.folder)) for d in found]
            quoted = [tuple(map(quote_text, row)) for row in cells]
            yield from ("", f"{title}:", "", *draw_table(head, quoted))
