"""The start of an eval session: what serves it in this process is registered, each a module of its own."""

from __future__ import annotations

import pytest

from pytest_browsereval.door import Door
from pytest_browsereval.errors import describe_error
from pytest_browsereval.hooks.conflicts import OneTry
from pytest_browsereval.hooks.controller import Controller, controller_key
from pytest_browsereval.hooks.endings import Endings
from pytest_browsereval.hooks.gating import WholeRuns
from pytest_browsereval.hooks.items import Reports, SetupReports
from pytest_browsereval.hooks.names import is_worker
from pytest_browsereval.hooks.order import Groups, Order
from pytest_browsereval.hooks.redaction import SafeReports, usage_errors
from pytest_browsereval.hooks.selecting import Selecting
from pytest_browsereval.hooks.session import EvalSession, eval_session_key
from pytest_browsereval.hooks.terminal import Progress, Terminal
from pytest_browsereval.hooks.termination import Termination, guard_session
from pytest_browsereval.redaction.known import redact_known


def start(config: pytest.Config) -> EvalSession:
    """Return pytest's eval session, made at the first call together with the hooks that serve it."""
    session = config.stash.get(eval_session_key, None)
    if session is not None:
        return session
    if not is_worker(config):
        guard_session(config)
    door = Door(config.pluginmanager, config.rootpath)
    door.fill()
    with usage_errors():
        session = EvalSession(config, door)
    config.stash[eval_session_key] = session
    _register(session, config)
    _tell_plug_ins(config)
    return session


def _tell_plug_ins(config: pytest.Config) -> None:
    """Call the hook; what it raises ends pytest as bad usage, no matter what exit code it asks for."""
    try:
        config.hook.pytest_browsereval_start.call_historic(kwargs={"config": config})
    except (pytest.UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit and pytest.exit too: nothing has been judged
        message = f"pytest_browsereval_start fails: {describe_error(error)}. Fix the plug-in."
        raise pytest.UsageError(redact_known(message)) from error


def _register(session: EvalSession, config: pytest.Config) -> None:
    """Register what this process needs; a worker neither gates nor prints."""
    manager = config.pluginmanager
    manager.register(session, "browsereval-session")
    if manager.has_plugin("rerunfailures"):
        manager.register(OneTry(), "browsereval-one-try")  # before others, which have to see each item first
    manager.register(session.surroundings, "browsereval-surroundings")
    manager.register(session.prefetch, "browsereval-prefetch")
    manager.register(session.output, "browsereval-output")
    manager.register(Reports(), "browsereval-reports")
    manager.register(SetupReports(), "browsereval-setup-reports")
    manager.register(SafeReports(), "browsereval-redaction")
    manager.register(Order(), "browsereval-order")
    manager.register(Selecting(session), "browsereval-selecting")
    manager.register(session.keeping, "browsereval-record-keeping")
    if session.is_worker:
        config.option.loadgroup = False  # else xdist changes ids
        manager.register(Groups(session.prefetch.share), "browsereval-groups")
        return
    controller = config.stash[controller_key] = Controller(session)
    manager.register(controller, "browsereval-controller")
    manager.register(controller.records, "browsereval-records")
    manager.register(Termination(), "browsereval-termination")
    manager.register(controller.gating, "browsereval-gating")
    if manager.has_plugin("xdist"):
        from pytest_browsereval.hooks.xdist import Distribution

        manager.register(Distribution(session, controller), "browsereval-distribution")
    manager.register(Progress(session, controller), "browsereval-progress")
    manager.register(Terminal(session, controller), "browsereval-terminal")
    manager.register(Endings(config, controller), "browsereval-endings")
    manager.register(WholeRuns(controller), "browsereval-whole-runs")
