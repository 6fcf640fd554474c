"""The verdict of a run: by its gate, which has an item for each rule, or by its rows where it has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_browsereval.analysis.evidence import contradicting
from pytest_browsereval.analysis.gate import decide
from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.hooks.names import runs_nothing
from pytest_browsereval.hooks.representation import represent
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import format_count, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.runs.run import StoredRun

if TYPE_CHECKING:
    from pytest_browsereval.hooks.controller import Controller

PREFIX = "gate::"


class Gating:
    """Decides the gate of each config after the last item, in the process that all reports reach."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self.results: list[tuple[ActiveRun, str, RuleResult]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Report the gate's items; not reached after Ctrl-C, ``-x`` or an internal error."""
        result = yield
        if not runs_nothing(session.config):
            self._controller.summarise()
            several = len(self._controller.summaries) > 1
            for active_run, run in self._controller.stored_runs.items():
                if active_run.config.is_gated:
                    against = self._session.door.judge_run(run, active_run.config.absolute_gate)
                    # A run that lacks trials misses the gate, no matter what others come to.
                    lacks = lacking(run, active_run.store.locks), contradicting(run)
                    for rule in filter(None, (*decide(run.summary, active_run.config.gate, against), *lacks)):
                        name = f"{self._controller.label(active_run)}::{rule.name}" if several else rule.name
                        self.results.append((active_run, name, rule))
                        self._report(session, active_run, name, rule)
        return result

    def _report(self, session: pytest.Session, active_run: ActiveRun, name: str, rule: RuleResult) -> None:
        message = f"gate {rule.word}: {rule.message}"
        hook, node_id, location = session.config.hook, PREFIX + name, ("gate", None, name)
        if len(self.results) == 1 and (
            terminal := session.config.pluginmanager.get_plugin("terminalreporter")
        ):
            terminal.currentfspath = None  # else the rows' line, which says [100%], gets a second figure
        session.testscollected += 1
        hook.pytest_runtest_logstart(nodeid=node_id, location=location)
        for when in ("setup", "call", "teardown"):
            is_bad = when == "call" and not rule.is_met
            report = pytest.TestReport(
                nodeid=node_id,
                location=location,
                keywords={},
                outcome="failed" if is_bad else "passed",
                longrepr=represent(message, message, active_run.config.path, 1) if is_bad else None,
                when=when,
                user_properties=[("gate", rule.name), ("figures", rule.message)],
            )
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=node_id, location=location)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Repair the cache of failed tests: xfailed rows are bad ones, and the gate's items are no tests."""
        result = yield
        cache = getattr(session.config, "cache", None)
        if cache is not None and not self._session.is_worker:
            known = dict(cache.get("cache/lastfailed", {}))
            if self.results:
                known.update({i: True for i, v in self._controller.verdicts.items() if v != "passed"})
            repaired = {node_id: True for node_id in known if not node_id.startswith(PREFIX)}
            if repaired != cache.get("cache/lastfailed", {}):
                cache.set("cache/lastfailed", repaired)
        return result


class WholeRuns:
    """Looks at what the items of this session do not tell: rows of earlier sessions, rows skipped too late.

    Args:
        controller: knows what the items have told and what the run folders say.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._lines: list[str] = []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make exit code 0 a 1; the controller has summed the runs up before."""
        if int(session.exitstatus) != pytest.ExitCode.OK:
            return
        for active_run, run in self._controller.stored_runs.items():
            if wrong := list(self._wrong(active_run, run)):
                why = f"the run is not green: {'; '.join(wrong)} (exit code 1)"
                self._lines.append(f"eval {active_run.config.name}: {why}")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Say why."""
        for line in self._lines:
            for part in wrap_text(line, config.get_terminal_writer().fullwidth):
                terminalreporter.line(part, red=True)

    def _wrong(self, active_run: ActiveRun, run: StoredRun) -> Iterator[str]:
        data = (trial.last for trial in run.trials)
        is_decided = active_run.config.expects  # by the gate
        bad = [one for one in data if one.verdict is not Verdict.PASSED and not is_decided(one)]
        if bad:
            reported = self._controller.keys_of(active_run, self._controller.verdicts)
            unsaid = [one for one in bad if one.key not in reported]
            for verdict, count in Counter(one.verdict for one in unsaid).items():
                yield f"{format_count(count, 'trial')} {verdict} that no item of this session reports"
        trials = active_run.trials
        is_earlier = trials.has_earlier or not trials.makes_attempts  # resumed, or regraded
        if is_earlier and not active_run.config.is_gated and (rule := lacking(run, active_run.store.locks)):
            yield rule.message
