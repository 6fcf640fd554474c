"""The features of pytest's side, each a module of its own; this is the list of them."""

from __future__ import annotations

import os

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.closing import Closing
from pytest_browsereval.hooks.comparing import Comparing
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.endings import Endings
from pytest_browsereval.hooks.gating import Gating
from pytest_browsereval.hooks.github import SUMMARY, Commands, GitHub, in_job
from pytest_browsereval.hooks.groups import Groups
from pytest_browsereval.hooks.html import HtmlReport
from pytest_browsereval.hooks.items import Reports
from pytest_browsereval.hooks.junit import JUnit
from pytest_browsereval.hooks.leaving import Leaving
from pytest_browsereval.hooks.names import planned_processes_key, runs_nothing
from pytest_browsereval.hooks.order import Order
from pytest_browsereval.hooks.output import OutputRouting
from pytest_browsereval.hooks.planning import Planning
from pytest_browsereval.hooks.prefetch import Ahead
from pytest_browsereval.hooks.progress import Progress
from pytest_browsereval.hooks.records import RecordKeeping
from pytest_browsereval.hooks.redaction import SafeReports
from pytest_browsereval.hooks.replay import ReplayHooks
from pytest_browsereval.hooks.reruns import OneTry
from pytest_browsereval.hooks.scoring import ScoreFile
from pytest_browsereval.hooks.selecting import Selecting
from pytest_browsereval.hooks.session import EvalSession, eval_session_key
from pytest_browsereval.hooks.sharding import Sharding, shard_of
from pytest_browsereval.hooks.terminal import Terminal
from pytest_browsereval.hooks.termination import Termination
from pytest_browsereval.hooks.viewing import Viewing
from pytest_browsereval.hooks.whole_runs import WholeRuns
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.replay.cassettes import ModelCalls


def start(config: pytest.Config) -> EvalSession:
    """Return pytest's eval session, made at the first call together with the hooks that serve it."""
    session = config.stash.get(eval_session_key, None)
    if session is not None:
        return session
    try:
        session = EvalSession(config)
    except UsageError as error:
        raise pytest.UsageError(redact_known(str(error))) from None
    config.stash[eval_session_key] = session
    _register(session, config)
    return session


def _register(session: EvalSession, config: pytest.Config) -> None:
    """Register the features that this process needs; a worker neither gates nor prints."""
    manager = config.pluginmanager
    manager.register(session, "browsereval-session")
    _register_one_try(config)  # before others, which have to see each item first
    manager.register(Ahead(session), "browsereval-ahead")
    manager.register(OutputRouting(config), "browsereval-output")
    manager.register(Reports(), "browsereval-reports")
    manager.register(SafeReports(), "browsereval-redaction")
    manager.register(Groups(), "browsereval-groups")
    manager.register(Order(), "browsereval-order")
    manager.register(Closing(session), "browsereval-closing")
    manager.register(Selecting(session), "browsereval-selecting")
    manager.register(RecordKeeping(session), "browsereval-record-keeping")
    if session.model_calls is not ModelCalls.LIVE:
        manager.register(ReplayHooks(session), "browsereval-replaying")
    if (given := config.getoption("eval_shard")) is not None:
        manager.register(Sharding(session, shard_of(given)), "browsereval-sharding")
    elif config.getoption("eval_shard_by") is not None:
        raise pytest.UsageError("--eval-shard-by has no effect without --eval-shard. Write  --eval-shard=1/4")
    if (scores := session.evals2.output_file) is not None:
        path = config.invocation_params.dir / scores
        manager.register(ScoreFile(path, session.began), "browsereval-scores")
    if session.is_worker:
        return
    commands = _stop_commands(config)
    controller = Controller(session)
    manager.register(controller, "browsereval-controller")
    manager.register(controller.records, "browsereval-records")
    manager.register(Termination(), "browsereval-termination")
    manager.register(Leaving(config), "browsereval-leaving")
    gating = Gating(session, controller)
    manager.register(gating, "browsereval-gating")
    if config.getoption("eval_baseline") is not None:
        manager.register(Comparing(controller), "browsereval-comparing")
    if config.getoption("eval_plan"):
        planning = Planning(session, config.stash[planned_processes_key])
        manager.register(planning, "browsereval-planning")
    if manager.has_plugin("xdist"):
        from pytest_browsereval.hooks.xdist import Distribution

        manager.register(Distribution(session, controller), "browsereval-distribution")
    _register_reports(session, config, controller, gating)
    if commands is not None or os.environ.get(SUMMARY):
        manager.register(GitHub(controller, gating, commands), "browsereval-github")


def _register_one_try(config: pytest.Config) -> None:
    """Keep rows from pytest-rerunfailures, unless the user lets it run them again."""
    if config.pluginmanager.has_plugin("rerunfailures") and not config.getoption("eval_allow_reruns"):
        config.pluginmanager.register(OneTry(), "browsereval-one-try")


def _stop_commands(config: pytest.Config) -> Commands | None:
    """Have a job take no commands from what is printed from now on; None outside of a job.

    A list of items has nothing of pages and agents in it, and programs read that list.
    """
    if not in_job() or config.option.collectonly:
        return None
    commands = Commands(config)
    commands.start()
    return commands


def _register_reports(
    session: EvalSession, config: pytest.Config, controller: Controller, gating: Gating
) -> None:
    """Register what tells of the run: reports that are asked for, and the terminal."""
    manager = config.pluginmanager
    if manager.has_plugin("html"):
        manager.register(HtmlReport(session, controller), "browsereval-html")
    if config.getoption("xmlpath", None):
        manager.register(JUnit(config, controller, gating), "browsereval-junit")
    manager.register(Progress(session, controller), "browsereval-progress")
    manager.register(Terminal(session, controller), "browsereval-terminal")
    manager.register(Endings(config, controller), "browsereval-endings")
    manager.register(WholeRuns(controller), "browsereval-whole-runs")
    manager.register(Viewing(), "browsereval-viewing")
    _register_dashboard(session, controller)


def _register_dashboard(session: EvalSession, controller: Controller) -> None:
    config = session.config
    port: int | None = config.getoption("eval_dashboard")
    if port is not None and not runs_nothing(config):
        from pytest_browsereval.hooks.dashboard import LiveView

        config.pluginmanager.register(LiveView(session, controller, port), "browsereval-dashboard")
