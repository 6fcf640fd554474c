"""All rules over all rows of a config."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.doctor.lint import dates, form, goals
from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Rule
from pytest_browsereval.features.doctor.lint.loading import Loaded, load
from pytest_browsereval.features.doctor.lint.online import ask_pages
from pytest_browsereval.features.doctor.lint.runs import ask_runs, attempts_of
from pytest_browsereval.registry import Registry

# Each looks at one row at a time.
RULES: tuple[Rule, ...] = (*form.RULES, *dates.RULES, *goals.RULES)


async def lint(
    config: EvalConfig,
    registry: Registry,
    *,
    today: date,
    runs: Iterable[Path] = (),
    online: bool = False,
    loaded: Loaded | None = None,
) -> tuple[Finding, ...]:
    """Return what is wrong or doubtful about the rows of a config, errors first, then as in the files.

    Args:
        config: its datasets are read, its graders and sites known.
        registry: where rows look their graders up.
        today: what dates are compared with.
        runs: folders of earlier runs.
        online: True asks the start pages whether they are still there.
        loaded: the rows, where they were read already.

    Raises:
        UsageError: a file of a run is damaged.
    """
    loaded = loaded or load(config, registry)
    given = Given(config, today, loaded.rows)
    findings = list(loaded.findings)
    findings += (found for row in given.rows for rule in RULES for found in rule(row, given))
    findings += (found for rule in form.SET_RULES for found in rule(given))
    findings += ask_runs(given, attempts_of(runs))
    if online:
        findings += await ask_pages(given.rows)
    return tuple(sorted(findings, key=lambda found: list(Level).index(found.level)))
