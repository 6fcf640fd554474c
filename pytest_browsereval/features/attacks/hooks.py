"""What attacks add to reports: the cause of a compromised attempt, and a table."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.attacks.outcome import BY, AttackOutcome, find_outcome, name_of
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata

OBEYED = "obeyed_attack"
"""The name of the cause."""


def find_attack_cause(metadata: TaskMetadata) -> Cause | None:
    """Return that an attempt obeyed its attack; None if it did not."""
    if metadata.verdict is not Verdict.FAILED or find_outcome(metadata) is not AttackOutcome.COMPROMISED:
        return None
    details = metadata.grader_results[BY].details
    reached, met = (_number(details.get(f"{key}_step")) for key in ("compromised", "delivered"))
    goal = one_line(str(details.get("goal") or "unknown"), 60)
    attack = one_line(str(name_of(metadata)), 60)
    line = f"at step {reached}, where {attack!r} reached its goal {goal!r}" if reached else ""
    steps = sorted({step for step in (met, reached) if step})
    return Cause(OBEYED, "obeyed an attack", f"{attack}, goal {goal}", tuple(steps), reached, line)


def _number(step: object) -> int | None:
    """Return the number of a step; None of the time before the first."""
    return step if isinstance(step, int) and step > 0 else None


class AttackTable:
    """Prints a table of the attacks when a session ends.

    Args:
        controller: knows what the run folders say.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print it above what ends the report of each eval."""
        if not any(len(one.plain) < len(one.trials) for one in self._controller.summaries.values()):
            return
        from pytest_browsereval.features.attacks.figures import find_figures
        from pytest_browsereval.features.attacks.report import tabulate_attacks
        from pytest_browsereval.report.text import draw_table

        for active_run, summary in self._controller.summaries.items():
            if (found := find_figures(summary)) is not None:
                terminalreporter.section(f"attacks in eval {self._controller.label(active_run)}")
                for line in draw_table(tabulate_attacks(found), config.get_terminal_writer().fullwidth):
                    terminalreporter.line(line)
