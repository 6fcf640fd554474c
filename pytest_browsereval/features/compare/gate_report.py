"""Report of a gate: what each rule of it says of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.model.display import format_count, percent
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import intervals
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.run import StoredRun

MOST_LISTED = 100
"""Rules. Those that are not met come first if there are more, so that none of them is left out."""


def make_report(root: Path, run: StoredRun, selected: int | None, results: Sequence[RuleResult]) -> Report:
    """Return the report.

    Args:
        root: the run's folder, as it was typed.
        run: the run.
        selected: how many trials there were to be; None if unknown.
        results: what the rules say.
    """
    summary = run.summary
    plain = summary.plain
    rate = pass_rate(
        (trial.last for trial in plain), selected and selected - (len(summary.trials) - len(plain))
    )
    bad = sum(not result.is_met for result in results)
    rules = format_count(len(results), "rule")
    listed = sorted(results, key=lambda one: one.is_met and len(results) > MOST_LISTED)
    return Report(
        title=f"gate NOT MET: {bad} of {rules}" if bad else f"gate met: {rules}",
        facts=[("run", format_path(root)), _describe_rate(rate), *_list_parts(run)],
        tables=[Table(("rule", "verdict", "figures"), list(map(_make_row, listed)), most=MOST_LISTED)],
        content=lambda: {
            "run": root.resolve().name,
            "folder": str(root),
            "met": not bad,
            "selected": selected,
            "cost_usd": summary.cost_usd,
            "pass_rate": rate.as_json(),
            "rules": list(map(_list_values, results)),
        },
    )


def _list_parts(run: StoredRun) -> list[str]:
    """Return what a part of a run says nothing about: its gate is not that of the run."""
    manifest = run.read_manifest()
    if (parts := Parts.of_run(manifest)) is None or not parts.missing:
        return []
    least = parts.count_least(manifest)
    few = "at least " if least < parts.missing_trials else ""
    return [f"only a part of a run: other shards have {few}{format_count(least, 'trial')} more"]


def _describe_rate(rate: PassRate) -> str:
    """Return a pass rate in words: both numbers, its intervals, and what is in neither number."""
    message = "no trial was judged"
    if rate.value is not None:
        message = (
            f"pass rate {percent(rate.value)} ({rate.passed:,} of {rate.judged:,} judged), {intervals(rate)}"
        )
    left = ", ".join(f"{why} {count:,}" for why, count in rate.excluded.items())
    return f"{message}. Not in the rate: {left}" if left else message


def _make_row(result: RuleResult) -> Row:
    word = result.word if result.is_met else result.word.upper()
    return Row((result.name, word, result.message), f"{word} {result.name}: {result.message}")


def _list_values(rule: RuleResult) -> dict[str, Any]:
    return {"name": rule.name, "met": rule.is_met, "verdict": rule.word, "message": rule.message}
