"""Report of a gate: what each rule of it says of a run."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_browsereval.config_text import format_path
from pytest_browsereval.model.display import format_count, percent
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import intervals
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.run import StoredRun


def make_report(run: StoredRun, selected: int | None, rules: str, results: Sequence[RuleResult]) -> Report:
    """Return the report.

    Args:
        run: the run.
        selected: how many trials there were to be; None if unknown.
        rules: where the rules are from.
        results: what they say.
    """
    summary = run.summary
    derived = len(summary.trials) - len(summary.plain)
    rate = pass_rate((trial.last for trial in summary.plain), selected and selected - derived)
    bad, count = sum(not one.is_met for one in results), format_count(len(results), "rule")
    facts: list[str | tuple[str, str]] = [
        ("run", format_path(run.folder)),
        ("rules", rules),
        _describe_rate(rate),
    ]
    # What a part of a run says nothing about: its gate is not that of the run.
    parts = Parts.of_run(manifest := run.read_manifest())
    if parts is not None and parts.missing:
        least = format_count(parts.count_least(manifest), "trial")
        facts.append(f"only a part of a run: other shards have at least {least} more")
    words = [one.word if one.is_met else one.word.upper() for one in results]
    rows = [
        Row((one.name, word, one.message), f"{word} {one.name}: {one.message}")
        for one, word in zip(results, words, strict=True)
    ]
    listed = [
        {"name": one.name, "met": one.is_met, "verdict": one.word, "message": one.message} for one in results
    ]
    return Report(
        title=f"gate NOT MET: {bad} of {count}" if bad else f"gate met: {count}",
        facts=facts,
        tables=[Table(("rule", "verdict", "figures"), rows, most=len(rows))],
        content=lambda: {
            "run": run.folder.resolve().name,
            "folder": format_path(run.folder),
            "met": not bad,
            "selected": selected,
            "cost_usd": summary.cost_usd,
            "pass_rate": rate.as_json(),
            "rules": listed,
        },
    )


def _describe_rate(rate: PassRate) -> str:
    """Return a pass rate in words: both numbers, its intervals, and what is in neither number."""
    message = "no trial was judged"
    if rate.value is not None:
        message = (
            f"pass rate {percent(rate.value)} ({rate.passed:,} of {rate.judged:,} judged), {intervals(rate)}"
        )
    left = ", ".join(f"{why} {count:,}" for why, count in rate.excluded.items())
    return f"{message}. Not in the rate: {left}" if left else message
