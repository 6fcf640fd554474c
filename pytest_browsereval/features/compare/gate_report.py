"""Results of a gate: for a terminal of 80 columns, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.passrate import PassRate, pass_rate
from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.config_text import format_path
from pytest_browsereval.model.display import format_count, one_line, percent, wrap_text
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.markdown import draw_table, quote_text
from pytest_browsereval.report.table import count_rest, intervals
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import RunStore

WIDTH = 80

# Rules. Unmet ones come first, so that none of them is left out before a met one.
MOST_LISTED = 100


def text(root: Path, summary: RunSummary, selected: int | None, results: Sequence[RuleResult]) -> str:
    """Return the lines for a terminal.

    Args:
        root: the run's folder.
        summary: of the run.
        selected: how many trials there were to be; None if unknown.
        results: what the rules say.
    """
    return "\n".join(_lines(root, summary, selected, results)) + "\n"


def _lines(
    root: Path, summary: RunSummary, selected: int | None, results: Sequence[RuleResult]
) -> Iterator[str]:
    yield f"run  {one_line(format_path(root))}"
    yield from wrap_text(facts(rate_of(summary, selected)), WIDTH)
    yield from _describe_rest(root)
    yield ""
    for result in _first(results):
        yield from wrap_text(f"{_word(result)} {result.name}: {one_line(result.message, 600)}", WIDTH)
    yield from count_rest(len(results), MOST_LISTED, " rules")
    yield ""
    yield _outcome(results)


def _describe_rest(root: Path) -> Iterator[str]:
    """Yield what a part of a run says nothing about: its gate is not that of the run."""
    manifest = RunStore(root).manifest()
    if (parts := Parts.of_run(manifest)) is not None and parts.missing:
        least = parts.count_least(manifest)
        few = "at least " * (least < parts.missing_trials)
        yield f"only a part of a run: other shards have {few}{format_count(least, 'trial')} more"


def rate_of(summary: RunSummary, selected: int | None) -> PassRate:
    """Return the pass rate of a run."""
    return pass_rate(
        (trial.metadata for trial in summary.plain),
        selected and selected - (len(summary.trials) - len(summary.plain)),
    )


def facts(rate: PassRate) -> str:
    """Return a pass rate in words: both numbers, its intervals, and what is in neither number."""
    message = "no trial was judged"
    if rate.value is not None:
        message = (
            f"pass rate {percent(rate.value)} ({rate.passed:,} of {rate.judged:,} judged), {intervals(rate)}"
        )
    left = ", ".join(f"{why} {count:,}" for why, count in rate.excluded.items())
    return f"{message}. Not in the rate: {left}" if left else message


def _first(results: Sequence[RuleResult]) -> Sequence[RuleResult]:
    """Return what is listed: all of a few; of many those that are not met come first."""
    if len(results) <= MOST_LISTED:
        return results
    return sorted(results, key=lambda result: result.is_met)[:MOST_LISTED]


def _word(result: RuleResult) -> str:
    return result.word.upper() if not result.is_met else result.word


def _outcome(results: Sequence[RuleResult]) -> str:
    bad = sum(not result.is_met for result in results)
    if not bad:
        return f"gate met: {format_count(len(results), 'rule')}"
    return f"gate NOT MET: {bad} of {format_count(len(results), 'rule')}"


def as_json(
    root: Path, summary: RunSummary, selected: int | None, results: Sequence[RuleResult]
) -> dict[str, Any]:
    """Return all of it as plain values."""
    return {
        "run": root.resolve().name,
        "folder": str(root),
        "met": all(result.is_met for result in results),
        "selected": selected,
        "cost_usd": summary.cost_usd,
        "pass_rate": rate_of(summary, selected).as_json(),
        "rules": [
            {"name": r.name, "met": r.is_met, "verdict": r.word, "message": r.message} for r in results
        ],
    }


def markdown(root: Path, summary: RunSummary, selected: int | None, results: Sequence[RuleResult]) -> str:
    """Return the report for a comment."""
    lines = [
        f"### {quote_text(_outcome(results))}",
        "",
        f"- run: {quote_text(root.resolve().name)}",
        f"- {quote_text(facts(rate_of(summary, selected)))}",
        *(f"- {rest}" for rest in _describe_rest(root)),
        "",
    ]
    words = ((r, r.word if r.is_met else f"**{r.word}**") for r in _first(results))
    rows = ((quote_text(r.name), word, quote_text(r.message)) for r, word in words)
    lines += draw_table(("rule", "verdict", "figures"), rows)
    return "\n".join([*lines, *("", *count_rest(len(results), MOST_LISTED, " rules"))]).rstrip() + "\n"
