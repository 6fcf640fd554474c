"""What a run that has ended early lacks, how to resume it, and what could not be closed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import Unmade
from pytest_browsereval.model.display import format_count, list_names, wrap_text
from pytest_browsereval.run.lookup import LATEST

REASONS: dict[Unmade, tuple[str, str]] = {
    "budget": ("the budget is used up", "Raise it"),
    "dashboard": ("they were cancelled in the dashboard", ""),
    "stopped": ("the run was stopped", ""),
}
"""Why trials were not run, by what kept them from it, and what to do about that."""
UNPRICED = (
    "a cost is not known (a model has no price, or a program reports no usage)",
    "Leave budget.max_cost_usd out (--eval-set budget.max_cost_usd=null)",
)
"""The same where a budget of money cannot be kept."""


class Endings:
    """Prints a section after those of the evals where trials have no result.

    Args:
        config: pytest's.
        controller: knows which trials these are.
    """

    def __init__(self, config: pytest.Config, controller: Controller) -> None:
        self._config = config
        self._controller = controller

    @cached_property
    def _option(self) -> str:
        """What has the rest run."""
        # Asked late: options that contradict each other are reported by the session, which comes first.
        earlier = self._controller.session.find_earlier_run()
        return "resume" if earlier is None else earlier.option

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print it, and before it what could not be closed; the exit code stays that of the verdicts."""
        controller, out = self._controller, terminalreporter
        if unclosed := controller.list_unclosed():
            out.section("eval cleanup errors", yellow=True)
            for problem in unclosed:
                out.line(problem, yellow=True)
        lacking = controller.lacking() if controller.has_looped else []
        if not lacking and not controller.missing:
            return
        width = self._config.get_terminal_writer().fullwidth
        out.section("eval not finished", red=True)
        for why in controller.stops():
            for line in wrap_text(why, width):
                out.line(line, red=True)
        for line in self._undone(lacking):
            out.line(line, red=True)
        for name in list_names(controller.missing or lacking):
            out.line(f"  {name}", red=True)
        if (command := self._command(lacking)) is not None:
            advice = dict.fromkeys(self._reason(why)[1] for why, names in controller.unmade.items() if names)
            first = "".join(f"{one}, then " for one in advice if one)
            what = "resume the run with" if self._option == "resume" else f"{self._option} the rest with"
            out.line(f"{first}{what}" if first else f"{what[0].upper()}{what[1:]}")
            out.line(f"  {command}")  # in one piece, to be copied

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Print it after an internal error, for which pytest prints no summary."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and int(exitstatus) == pytest.ExitCode.INTERNAL_ERROR:
            self.pytest_terminal_summary(reporter)

    def _reason(self, why: Unmade) -> tuple[str, str]:
        return UNPRICED if why == "budget" and self._controller.has_unknown_cost else REASONS[why]

    def _undone(self, lacking: list[str]) -> Iterator[str]:
        """Yield how many trials were not run, for each reason that is known."""
        controller = self._controller
        done, total = "run" if self._option == "resume" else f"{self._option}d", len(controller.rows)
        if controller.missing:
            expected = len(controller.expected)
            yield f"incomplete: {len(controller.missing)} of {expected} items have no result:"
            return
        known = 0
        for why in REASONS:
            if why != "stopped" and (count := len(controller.unmade[why])):
                known += count
                end = ":" if known == len(lacking) else ""
                yield f"not {done}, since {self._reason(why)[0]}: {count} of {total} trials{end}"
        if known < len(lacking):
            yield f"not {done}: {len(lacking)} of {format_count(total, 'trial')}:"

    def _command(self, lacking: Iterable[str]) -> str | None:
        """Return what to type to have the rest run; None where there is no run folder yet."""
        owners = dict.fromkeys(self._controller.rows[name] for name in lacking)
        folders = [owner.store.root for owner in owners if owner.store.root.is_dir()]
        if not folders or not hasattr(self._config.option, f"eval_{self._option}"):
            return None
        run = folders[0].name if len(self._controller.session.runs) == 1 else LATEST
        args = self._config.invocation_params.args  # of an option that is given twice, the last holds
        place = args.index("--") if "--" in args else len(args)
        # What has failed is reported again: `-x` would stop at it, and never come to the rest.
        goes_on = ["--maxfail=0"] if self._config.option.maxfail else []
        given = [f"--eval-{self._option}={run}", *goes_on, *args[place:]]
        return shlex.join(["pytest", *args[:place], *given])
