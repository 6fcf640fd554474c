"""``--eval-plan`` and ``--eval-plan-json``: print what a run will take, and run nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.plan.planning import plan_run
from pytest_browsereval.features.plan.report import EvalPlan, figures, plan_lines
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import format_count
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.lookup import LATEST, run_folder
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun


class Planning:
    """Stands in for pytest's loop, once all rows were checked.

    Args:
        session: the eval session.
        processes: how many the run would have.
    """

    def __init__(self, session: EvalSession, processes: int) -> None:
        self._session = session
        self._processes = processes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print the plan of each eval; no item is run."""
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        rows: dict[ActiveRun, list[EvalItem]] = {}
        for item in session.items:
            if isinstance(item, EvalItem):
                rows.setdefault(item.active_run, []).append(item)
        plans = {active_run.config.name: self._plan(active_run, items) for active_run, items in rows.items()}
        others = len(session.items) - sum(map(len, rows.values()))
        if session.config.getoption("eval_plan_json"):
            evals = [{"eval": name, **figures(plan)} for name, plan in plans.items()]
            reporter.line(json.dumps({"evals": evals, "other_tests": others}))
            return True
        for name, plan in plans.items():
            reporter.section(f"plan of eval {name}")
            for line in plan_lines(plan):
                reporter.line(line)
        if others:
            reporter.line(f"plus {format_count(others, 'test')} outside evals")
        reporter.line("nothing was run (--eval-plan)")
        return True

    def _plan(self, active_run: ActiveRun, items: list[EvalItem]) -> EvalPlan:
        config = active_run.config
        left = active_run.trials.list_due(item.entry for item in items)
        basis: str | None = None
        attempts: list[StoredAttempt] = []
        why = "there is no earlier run of this config"
        if folder := self._earlier(active_run):
            try:
                attempts = list(StoredRun(folder).attempts)
                basis = folder.name
            except UsageError as error:
                why = str(error)
        keys = [entry.key for entry in left]
        plan = plan_run(keys, attempts, retries=config.retries)
        sure = [key for key in keys if key.trial <= config.least_trials]
        if len(sure) < len(keys):
            plan = replace(plan, least=plan_run(sure, attempts, retries=config.retries))
        at_once = config.num_workers or config.lanes * self._processes
        tasks = len({entry.ref.query_id for entry in left})
        return EvalPlan(plan, config, tasks, at_once, basis, why)

    def _earlier(self, active_run: ActiveRun) -> Path | None:
        try:
            base = active_run.config.base_dir
            return run_folder(active_run.config, LATEST, base, before=self._session.run_id)
        except UsageError:
            return None
