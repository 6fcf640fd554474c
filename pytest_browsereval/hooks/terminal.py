"""The terminal's header, lines while rows run, and the summary of each run."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.hooks.conflicts import describe_reruns
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.hooks.share import count_lanes
from pytest_browsereval.model.display import format_count, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report import table, variants
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.runs.summary import RunSummary

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
        if self._session.door.packages:
            lines.append(f"eval plug-ins: {', '.join(self._session.door.packages)}")
        for active_run in self._session.runs.values():
            lines.extend(self._about(active_run, config))
        return lines

    def _about(self, active_run: ActiveRun, config: pytest.Config) -> list[str]:
        loaded = active_run.config
        earlier = active_run.trials.describe(_short(active_run.store.root, config))
        if not active_run.trials.makes_attempts:
            return [f"eval {loaded.name}: {earlier}"]
        labels = {name: agent.label() for name, agent in loaded.variants.items()}
        is_single = list(labels) == ["default"]
        processes = config.getoption("numprocesses", None)
        money, minutes = loaded.budget.max_cost_usd, loaded.budget.max_minutes
        may_use = "" if money is None else f"${money:g}", "" if minutes is None else f"{minutes:g} min"
        budget = " and ".join(filter(None, may_use))
        most = loaded.most_trials
        parts = [
            f"agent {labels['default']}" if is_single else format_count(len(labels), "variant"),
            format_count(count_lanes(loaded, processes or 1), "lane"),
            f"in each of {processes} processes" if processes else "",
            f"{'up to ' if most != loaded.least_trials else ''}{most} trials" if most > 1 else "",
            active_run.cassettes.describe(lambda path: _short(path, config)),
            f"browser {loaded.browser.type}",
            f"budget {budget}" if budget else "",
            earlier,
        ]
        said = ", ".join(filter(None, parts))
        variants = () if is_single else (f"  {name}: {label}" for name, label in labels.items())
        return [f"eval {loaded.name}: {said}", *variants, *(f"  note: {note}" for note in loaded.notes)]

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
        ascii_only = b"?" in "✓✗…·".encode(stdout_encoding(), "replace")
        width, how = config.get_terminal_writer().fullwidth, {True: "green", False: "red"}
        digests = [trial.last for trial in summary.trials]
        write = partial(_write, out, width, ascii_only)
        out.section(f"eval {self._controller.label(active_run)}")
        draw = table.table
        if variants.has_variants(summary):
            draw = partial(variants.draw_variants, order=active_run.config.variants)
        for line in draw(summary, width=width, ascii_only=ascii_only):
            out.line(line.text, **({COLOURS[line.verdict]: True} if line.verdict else {"bold": True}))
        out.line("")
        # pytest tells no reason of what it expects
        is_expected = any(active_run.config.expects(one) for one in digests)
        why = table.reasons(summary, width=width, ascii_only=ascii_only) if is_expected else ()
        for line in (*why, *table.disagreements(summary, width=width, ascii_only=ascii_only)):
            out.line(line.text, **({COLOURS[line.verdict]: True} if line.verdict else {}))
        for text in table.totals(summary, self._controller.count_selected(active_run), width=width):
            out.line(text.replace("·", "|") if ascii_only else text, bold=True)
        write(self._controller.lines_beside.get(active_run, ()))
        write((*table.draw_repeats(summary), *table.warnings_of_passed(summary)))
        rules = (one for one in self._controller.gating.results if one[0] is active_run)
        for _, name, rule in rules:
            write([f"gate {name}: {rule.message}"], **{how[rule.is_met]: True})
        write(active_run.trials.list_changes(digests), bold=True)
        write(f"browser: {name}" for name in [active_run.store.run.read_manifest().get("browser")] if name)
        write(active_run.cassettes.list_notes(digests, lambda path: _short(path, config)))
        out.line(f"run folder: {_short(active_run.store.root, config)}")  # in one piece, to be copied
        if (page := active_run.store.root / PAGE).is_file():
            out.line(f"page: {_short(page, config)}")


def _write(out: Any, width: int, ascii_only: bool, texts: Iterable[str], **markup: bool) -> None:  # noqa: FBT001
    for text in texts:
        plain = text.replace("·", "|").encode("ascii", "replace").decode() if ascii_only else text
        for part in wrap_text(plain, width):
            out.line(part, **markup)


def _short(path: Path, config: pytest.Config) -> str:
    base = config.invocation_params.dir
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)


def stdout_encoding() -> str:
    """Return the encoding of what pytest prints summaries to: by then it captures no more."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


EVERY_S = 10.0
"""Often enough to see that a slow run moves, seldom enough not to bury pytest's own lines."""


class Progress:
    """Prints the line after an item's report, at most every ten seconds."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self._last = time.monotonic()
        self._spent = 0.0
        self._spent_is_known = True
        self._folders: dict[str, None] = {}
        self._began: float | None = None
        """When the first row was up, by a monotonic clock."""
        self._resumed = 0
        """Rows whose results an earlier session had: they take no time."""

    def pytest_runtest_logstart(self) -> None:
        """Note when rows begin; collecting them is not what they take."""
        if self._began is None:
            self._began = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count the money that a trial cost."""
        if getattr(report, "browsereval_verdict", None) is not None:
            record = dict(report.user_properties)
            self._resumed += bool(record.get("resumed"))
            cost = 0.0 if record.get("resumed") or record.get("replayed") else record.get("cost_usd")
            owner = self._controller.rows.get(report.nodeid)
            if cost is not None and owner is not None:
                cost -= owner.trials.cost_before(report.nodeid)
            self._spent_is_known &= cost is not None
            self._spent += cost or 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Print the line if it is time."""
        if time.monotonic() - self._last >= EVERY_S and self._controller.rows:
            self._last = time.monotonic()
            reporter: Any = self._session.config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None and reporter.verbosity >= -1:  # -q means short, not blind
                reporter.ensure_newline()
                if self._session.config.get_terminal_writer().width_of_current_line:  # after letters of rows
                    reporter.write("\n")
                reporter.write(self.line())
                if not (reporter.showfspath or reporter.showlongtestinfo):
                    reporter.write("\n")  # else what pytest prints next begins with one

    def line(self) -> str:
        """Return the line."""
        verdicts = list(self._controller.verdicts.values())
        stores = {active_run.store for active_run in self._controller.rows.values()}
        running = sum(len(store.in_flight()) for store in stores)
        failed, errored = verdicts.count("failed"), verdicts.count("errored")
        return (
            f"  eval: {len(verdicts)} of {len(self._controller.rows)} done, {running} running, "
            f"{failed} failed, {errored} errored, {self._money()}{self._times(len(verdicts))}"
        )

    def _money(self) -> str:
        if self._spent_is_known:
            return f"${self._spent:.2f} spent"
        return f"more than ${self._spent:.2f} spent" if self._spent else "cost unknown"

    def _times(self, done: int) -> str:
        """Return how long rows have run, and how long the others will take at this pace."""
        if self._began is None:
            return ""
        elapsed_s, made = time.monotonic() - self._began, done - self._resumed
        left = len(self._controller.rows) - done
        rest = f", about {clock(elapsed_s / made * left)} left" if made > 0 and left else ""
        return f", {clock(elapsed_s)} elapsed{rest}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it: 1:05, or 2:00:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
