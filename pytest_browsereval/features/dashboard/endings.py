"""Why a run has ended as it did, for its page: what pytest's exit code alone does not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.endings import REASONS
from pytest_browsereval.model.display import format_count
from pytest_browsereval.run.active import ActiveRun

ELSEWHERE = {
    0: "all rows passed",
    1: "another eval or test of the session failed",
    2: "it was interrupted",
    3: "pytest broke, or lost a row",
    4: "it could not be started as asked",
    5: "there was nothing to run",
}
"""What an exit code comes from where nothing of this run explains it."""


def explain_ending(active_run: ActiveRun, controller: Controller, exit_code: int) -> list[str]:
    """Return why a run has ended as it did, the reasons of a red one first.

    Args:
        active_run: the run.
        controller: knows what its rows have come to.
        exit_code: of the session.
    """
    red = [ELSEWHERE[exit_code]] if exit_code in (2, 3, 4, 5) else []
    rules = [rule for owner, _, rule in controller.gating.results if owner is active_run]
    red += [f"gate {rule.word}: {rule.name}: {rule.message}" for rule in rules if not rule.is_met]
    rows = {name for name, owner in controller.rows.items() if owner is active_run}
    counts = Counter(verdict for name, verdict in controller.verdicts.items() if name in rows)
    bad = [f"{format_count(counts[kind], 'trial')} {kind}" for kind in ("failed", "errored") if counts[kind]]
    unmade = list(_unmade(active_run, controller, rows))
    spared = len(controller.unmade["decided"] & rows)
    good = [f"{format_count(spared, 'trial')} not needed"] if spared else []
    if not active_run.config.is_gated:
        return [*(red + bad + unmade or [ELSEWHERE[min(exit_code, 1)]]), *good]
    if rules and all(rule.is_met for rule in rules):
        red.append("the gate is met")
        if exit_code == pytest.ExitCode.TESTS_FAILED and not unmade:
            red.insert(0, ELSEWHERE[1])
    return [*red, *unmade, *(f"{one}: the gate decides about these" for one in bad), *good]


def _unmade(active_run: ActiveRun, controller: Controller, rows: set[str]) -> Iterator[str]:
    known: set[str] = set()
    for why, names in controller.unmade.items():
        if own := names & rows:
            known |= own
            if why in REASONS:  # else they were not needed
                yield f"{format_count(len(own), 'trial')} not run, since {REASONS[why][0]}"
    if active_run.trials.makes_attempts and (rest := len(rows.intersection(controller.lacking()) - known)):
        yield f"{format_count(rest, 'trial')} not run"
