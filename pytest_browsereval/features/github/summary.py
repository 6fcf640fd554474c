"""The job summary and the annotations of GitHub Actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.base import RowRef
from pytest_browsereval.features.shared.markdown import join_sections, list_sections
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import draw_repeats, name_trials, totals
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.summary import RunSummary

# GitHub refuses a summary of more than 1 MiB as a whole.
MOST_BYTES = 1_000_000

# Rows of the table; the rest is counted.
MOST_ROWS = 200

# GitHub shows 10 errors and 10 warnings of a step, and drops the others.
MOST_ANNOTATIONS = 10

_REST = "the run's page has them all"

_ORDER = (Verdict.FAILED, Verdict.ERRORED)


@dataclass(frozen=True)
class JobPart:
    """One eval of a job."""

    name: str
    folder: Path
    """Of the run."""
    summary: RunSummary
    selected: int | None
    """How many trials there were to be; None if unknown."""
    rules: Sequence[RuleResult] = ()
    """What the rules of its gate say; none if it has no gate."""
    more: Sequence[str] = ()
    """What features say besides its pass rate."""
    is_expected: Callable[[StoredAttempt], bool] = lambda _: False
    """Whether a trial may fail because the gate decides about it."""


def job_summary(parts: Sequence[JobPart], room: int = MOST_BYTES) -> str:
    """Return the Markdown for all evals, the most important first.

    Args:
        parts: the evals.
        room: bytes that it may have; sections that do not fit are counted at its end.
    """
    reports = [*map(_report_figures, parts), *map(_report_rows, parts)]
    sections = [section for report in reports for section in list_sections(report)]
    # 200 bytes are for the line that counts what was left out.
    return join_sections(
        sections,
        room - 200,
        "do not fit into a job's summary; the run's page has all.",
        lambda text: len(text.encode()),
    )


def _report_figures(part: JobPart) -> Report:
    figures = totals(part.summary, part.selected, width=10_000)
    rules = sorted(part.rules, key=lambda rule: rule.is_met)
    rows = [Row((rule.name, rule.word, rule.message)) for rule in rules]
    return Report(
        title=f"{part.name}: {_outcome(part)}",
        facts=[*figures, *part.more, *draw_repeats(part.summary), f"run folder {format_path(part.folder)}"],
        tables=[Table(("gate", "verdict", "figures"), rows, most=MOST_ROWS, rest=_REST)],
    )


def _outcome(part: JobPart) -> str:
    if part.rules:
        bad = sum(not rule.is_met for rule in part.rules)
        return f"gate missed ({bad} of {len(part.rules)} rules)" if bad else "gate met"
    counts = [(part.summary.count(verdict), verdict) for verdict in (Verdict.PASSED, *_ORDER)]
    return ", ".join(f"{count:,} {verdict}" for count, verdict in counts if count) or "no result"


def _report_rows(part: JobPart) -> Report:
    tables = []
    for verdict in _ORDER:
        trials = [trial for trial in part.summary.trials if trial.last.verdict is verdict]
        names = name_trials(trials[:MOST_ROWS], part.summary)
        shown = zip(names, (trial.last for trial in trials), strict=False)
        rows = [Row((name, data.reason or "", str(data.total_steps))) for name, data in shown]
        head = (f"{verdict} in {part.name}", "why", "steps")
        if rows:
            tables.append(Table(head, rows, aligns="llr", most=MOST_ROWS, count=len(trials), rest=_REST))
    return Report(tables=tables)


# -- annotations


def annotations_of(part: JobPart, places: dict[TrialKey, RowRef], workspace: Path) -> Iterator[str]:
    """Yield the commands that mark missed rules, and rows that did not pass, where they are written.

    What a gate judges is a warning; without a gate it is an error, as it is for pytest.

    Args:
        part: the eval.
        places: where each trial's row is written.
        workspace: the folder of the repository: files outside of it are not named.
    """
    missed = [rule for rule in part.rules if not rule.is_met]
    yield from _limit([("error", "", f"gate {part.name}", f"{r.name}: {r.message}") for r in missed])
    bad = [t for verdict in _ORDER for t in part.summary.trials if t.last.verdict is verdict]
    rows = []
    for trial, name in zip(bad, name_trials(bad, part.summary), strict=True):
        data = trial.last
        kind = "warning" if part.is_expected(data) else "error"
        place = _place(places.get(TrialKey(data.query_id, data.variant, data.trial)), workspace)
        rows.append((kind, place, f"{data.verdict}: {name}", one_line(data.reason, 500)))
    are_errors = any(kind == "error" for kind, *_ in rows)
    yield from _limit(rows, MOST_ANNOTATIONS - (len(missed) if are_errors else 0))


def _limit(found: Sequence[tuple[str, str, str, str]], most: int = MOST_ANNOTATIONS) -> Iterator[str]:
    """Yield as many as GitHub shows; the last one counts the rest."""
    most = max(1, most)
    shown, rest = (found, []) if len(found) <= most else (found[: most - 1], found[most - 1 :])
    for kind, place, title, message in shown:
        yield f"::{kind} {place}title={_property(title)}::{_data(message)}"
    if rest:
        kind, _, title, _ = rest[0]
        yield f"::{kind} title={len(rest)} more::{_data(f'{len(rest)} more like this one: {title}')}"


def _place(ref: RowRef | None, workspace: Path) -> str:
    if ref is None or not ref.path.resolve().is_relative_to(workspace.resolve()):
        return ""
    file = ref.path.resolve().relative_to(workspace.resolve()).as_posix()
    line = f"line={ref.line}," if ref.line else ""
    return f"file={_property(file)},{line}"


def _data(text: str) -> str:
    """Return text escaped for a command, as GitHub's toolkit does."""
    return one_line(text, 1_000).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
