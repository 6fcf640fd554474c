"""The terminal's header and the summary of each run."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.reruns import describe_reruns
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import format_count, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.report.table import (
    disagreements,
    draw_repeats,
    reasons,
    table,
    totals,
    warnings_of_passed,
)
from pytest_browsereval.run.active import ActiveRun

COLOURS = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.ERRORED: "yellow"}


class Terminal:
    """Says what is about to run, and what came of it."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self._has_described_reruns = False

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Name the configs that the command line names: agent, lanes, and what is not used of them."""
        lines = self._about_reruns(config)
        if self._session.registration.packages:
            lines.append(f"eval plug-ins: {', '.join(self._session.registration.packages)}")
        for active_run in self._session.runs.values():
            lines.extend(self._about(active_run, config))
        return lines

    def _about(self, active_run: ActiveRun, config: pytest.Config) -> list[str]:
        loaded = active_run.config
        earlier = active_run.trials.describe(_short(active_run.store.root, config))
        if not active_run.trials.makes_attempts:
            return [f"eval {loaded.name}: {earlier}"]
        agents = ", ".join(f"{name}: {agent.label()}" for name, agent in loaded.variants.items())
        if list(loaded.variants) == ["default"]:
            agents = loaded.variants["default"].label()
        parts = [f"agent {agents}"]
        processes = config.getoption("numprocesses", None)
        lanes = loaded.lanes
        if loaded.num_workers is not None:
            lanes = -(-loaded.num_workers // (processes or 1))
        parts.append(format_count(lanes, "lane"))
        if processes:
            parts.append(f"in each of {processes} processes")
            if config.getoption("dist", "load") not in ("load", "no"):
                parts.append(f"--dist {config.getoption('dist')}: at most 2 lanes")
        if loaded.trials > 1:
            parts.append(f"{loaded.trials} trials")
        if calls := active_run.cassettes.describe(lambda path: _short(path, config)):
            parts.append(calls)
        parts.append(f"browser {loaded.browser.type}")
        if budget := _budget(loaded.budget):
            parts.append(f"budget {budget}")
        if earlier:
            parts.append(earlier)
        return [f"eval {loaded.name}: {', '.join(parts)}", *(f"  note: {note}" for note in loaded.notes)]

    def pytest_report_collectionfinish(self, config: pytest.Config, items: list[pytest.Item]) -> list[str]:
        """Tell how many trials of each eval there are; with xdist the workers collect them."""
        if config.get_verbosity() < 0:
            return []
        counts = Counter(item.active_run for item in items if isinstance(item, EvalItem))
        lines = [f"eval {one.config.name}: {format_count(count, 'trial')}" for one, count in counts.items()]
        return [*lines, *self._about_reruns(config)]

    def _about_reruns(self, config: pytest.Config) -> list[str]:
        """Tell once: the head is printed before evals are found among other tests."""
        reruns = "" if self._has_described_reruns else describe_reruns(config)
        self._has_described_reruns = True
        return [f"eval: {reruns}"] if reruns else []

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print a table for each config, the pass rate, the gate and where the run folder is."""
        for active_run, summary in self._controller.summaries.items():
            self._table(terminalreporter, active_run, summary, config)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Print the same after an internal error, for which pytest prints no summary."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and int(exitstatus) == pytest.ExitCode.INTERNAL_ERROR:
            self.pytest_terminal_summary(reporter, session.config)

    def _table(self, out: Any, active_run: ActiveRun, summary: RunSummary, config: pytest.Config) -> None:
        out.section(f"eval {self._controller.label(active_run)}")
        ascii_only, width = not _can_encode("✓✗…·", stdout_encoding()), config.get_terminal_writer().fullwidth
        for line in table(summary, width=width, ascii_only=ascii_only):
            out.line(line.text, **({COLOURS[line.verdict]: True} if line.verdict else {"bold": True}))
        out.line("")
        if active_run.config.are_rows_expected:  # pytest tells no reason of what it expects
            for line in reasons(summary, width=width, ascii_only=ascii_only):
                out.line(line.text, **({COLOURS[line.verdict]: True} if line.verdict else {}))
        for line in disagreements(summary, width=width, ascii_only=ascii_only):
            out.line(line.text)
        self._rates(out, active_run, summary, width, is_ascii=ascii_only)
        self._write_repeats(out, summary, width, is_ascii=ascii_only)
        gating: Any = config.pluginmanager.get_plugin("browsereval-gating")
        for owner, name, rule in gating.results:
            if owner is active_run:
                text = f"gate {name}: {rule.message}"
                for part in wrap_text(_ascii(text) if ascii_only else text, width):
                    out.line(part, **{"green" if rule.is_met else "red": True})
        self._end(out, active_run, summary, width)
        out.line(f"run folder: {_short(active_run.store.root, config)}")  # in one piece, to be copied
        if (page := active_run.store.root / PAGE).is_file():
            out.line(f"page: {_short(page, config)}")

    def _rates(
        self, out: Any, active_run: ActiveRun, summary: RunSummary, width: int, *, is_ascii: bool
    ) -> None:
        """Print the pass rate, and what features say beside it."""
        selected = self._controller.count_selected(active_run)
        for text in totals(summary, selected, width=width):
            out.line(text.replace("·", "|") if is_ascii else text, bold=True)
        for text in self._controller.lines_beside.get(active_run, ()):
            for part in wrap_text(_ascii(text) if is_ascii else text, width):
                out.line(part)

    def _write_repeats(self, out: Any, summary: RunSummary, width: int, *, is_ascii: bool) -> None:
        for text in (*draw_repeats(summary), *warnings_of_passed(summary)):
            for part in wrap_text(_ascii(text.replace("·", "|")) if is_ascii else text, width):
                out.line(part)

    def _end(self, out: Any, active_run: ActiveRun, summary: RunSummary, width: int) -> None:
        """Tell what the session has changed, and the browser of the run."""
        for text in active_run.trials.list_changes(trial.metadata for trial in summary.trials):
            for part in wrap_text(text, width):
                out.line(part, bold=True)
        lines = [f"browser: {name}" for name in [active_run.store.manifest().get("browser")] if name]
        digests = [trial.metadata for trial in summary.trials]
        lines += active_run.cassettes.list_notes(digests, lambda path: _short(path, self._session.config))
        for part in (part for line in lines for part in wrap_text(line, width)):
            out.line(part)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _short(path: Path, config: pytest.Config) -> str:
    base = config.invocation_params.dir
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)


def stdout_encoding() -> str:
    """Return the encoding of what pytest prints summaries to: by then it captures no more."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _budget(budget: BudgetConfig) -> str:
    """Return what the run may use, in words; empty if nothing was said."""
    money, minutes = budget.max_cost_usd, budget.max_minutes
    parts = [f"${money:g}" if money is not None else "", f"{minutes:g} min" if minutes is not None else ""]
    return " and ".join(filter(None, parts))
