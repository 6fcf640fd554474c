"""The hooks of pytest-browsereval, in the order of a run.

Write them in a ``conftest.py`` or in a module named by an entry point of the group
``pytest_browsereval``. Where a docstring says *on the loop's thread*, the hook is called next to the
running attempts: be quick there, and do not call pytest's objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    import pyarrow as pa

    from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.capture.recording import WindowRecording
    from pytest_browsereval.commands.base import Command
    from pytest_browsereval.config import EvalConfig, GateConfig
    from pytest_browsereval.config.guard import GuardedCall
    from pytest_browsereval.graders.base import GraderConfig, Recorded
    from pytest_browsereval.model.causes import Cause
    from pytest_browsereval.model.grades import GraderResult
    from pytest_browsereval.model.messages import Message
    from pytest_browsereval.model.probe import Probe
    from pytest_browsereval.model.progress import StepFollower
    from pytest_browsereval.model.remote import RemoteRuns
    from pytest_browsereval.model.results import TaskMetadata
    from pytest_browsereval.model.rules import RuleResult
    from pytest_browsereval.model.tasks import Task
    from pytest_browsereval.registry import Registry
    from pytest_browsereval.run.active import ActiveRun, EarlierRun, TrialChoice
    from pytest_browsereval.run.cassettes import CassetteSource
    from pytest_browsereval.run.imports import ImportFormat
    from pytest_browsereval.run.plan import Trial
    from pytest_browsereval.run.session import Session
    from pytest_browsereval.run.store import RunStore
    from pytest_browsereval.runs.run import StoredRun
    from pytest_browsereval.runs.summary import RunSummary

# ---------------------------------------------------------------- next to pytest


@pytest.hookspec
def pytest_browsereval_commands() -> Sequence[Command]:  # type: ignore[empty-body]
    """Called by the ``browsereval`` command: return subcommands.

    This package's features and installed packages are asked. Return ``Command`` objects; import what they
    need when they run, so that other subcommands start as fast as before.
    """


@pytest.hookspec
def pytest_browsereval_run_formats() -> Sequence[ImportFormat]:  # type: ignore[empty-body]
    """Called by ``browsereval import-run``: return run formats."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_fetch_run(
    url: str,
    with_files: bool,  # noqa: FBT001 hooks are called with keywords
) -> Sequence[Path] | None:
    """Called by the ``browsereval`` command for a run at a URL: return folders with copies of its parts.

    Args:
        url: what was typed. Return None if it is not one of yours.
        with_files: whether pictures, traces and other files of attempts are needed next to their records. A
            copy without them has a file ``.partial`` with the run's URL.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_open_runs(url: str) -> RemoteRuns | None:
    """Called for the folder of all runs at a URL, where they are listed: return what reads and writes there.

    Args:
        url: what was typed. Return None if it is not one of yours.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_make_table(run: StoredRun, name: str) -> pa.Table | None:
    """Called for ``open_run(...).table(name)``: return the table; None if there is none of that name."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_find_cause(metadata: TaskMetadata, folder: Path) -> Cause | None:
    """Called for an attempt that did not pass, by what reports it: return why; None if you do not know.

    It is called again each time, also long after the run: decide by the attempt's folder alone.
    """


@pytest.hookspec
def pytest_browsereval_judge_run(run: StoredRun, gate: GateConfig) -> Sequence[RuleResult]:  # type: ignore[empty-body]
    """Called where a gate is decided, in a session and by commands: return results of rules.

    A result replaces the rule of its name. A rule that is not one of the gate's counts as well: the gate
    is met if all are.

    Args:
        run: as it is stored; decide by it alone, so that each later decision is the same.
        gate: the rules. Its baseline is an absolute path.
    """


@pytest.hookspec
def pytest_browsereval_sum_up(run: StoredRun) -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Called once a run is over, where runs are merged, and for its page: return further figures.

    They are added to ``summary.json``.
    """


@pytest.hookspec
def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:  # type: ignore[empty-body]
    """Called where a session or a merge prints the pass rate of a run: return further lines."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_choose_run(
    name: str, home: str, before: str | None, runs: RemoteRuns | None
) -> str | None:
    """Called for ``latest`` at a URL, and for ``latest-on-BRANCH``: return the run that it stands for.

    Args:
        name: what was typed; of a URL its last part.
        home: the folder of the runs of an eval, or its URL.
        before: the id of a run; neither it nor later ones are meant.
        runs: all runs at the URL above the home; None for a folder.

    Return its folder or URL, or None if you do not know. Raise ``UsageError`` if there is none.
    """


# ---------------------------------------------------------------- before the run


@pytest.hookspec(historic=True)
def pytest_browsereval_start(config: pytest.Config) -> None:
    """Called once in each process when an eval is asked for; for a later conftest, when it is loaded.

    A feature registers its pytest plug-ins here: ``config.pluginmanager.register(...)``.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_bring_run(config: pytest.Config, eval_config: EvalConfig) -> Path | None:
    """Called in each process before a config's run is made: return the folder into which you brought a run.

    The folder has what another session has recorded of this run; return None if there is nothing. Not called
    where the command line names an earlier run.

    Args:
        config: pytest's.
        eval_config: whose run it is to be.
    """


@pytest.hookspec
def pytest_browsereval_earlier_run(config: pytest.Config, brought: Path | None) -> EarlierRun | None:
    """If your option names an earlier run, whose trials are to be the session's, return it; otherwise None.

    ``brought`` is the folder of an interrupted run, if another plug-in has brought one to be resumed. Its
    ``make`` returns an object with the methods of ``run.active.Trials``. Called several times: for each
    config, and for printing. Raise ``UsageError`` for options that contradict each other; two
    plug-ins that both return a run are refused.
    """


@pytest.hookspec
def pytest_browsereval_check_run(active_run: ActiveRun) -> Sequence[str] | None:
    """Called before anything is spent, under xdist in the controller: raise ``ConfigError`` to refuse a run.

    Args:
        active_run: with its ``config``.

    Return what a reader of the run should know, a sentence for each, or None.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_choose_trials(active_run: ActiveRun) -> TrialChoice | None:
    """Called once for each run in each process: return what says which trials are made; None for all."""


@pytest.hookspec
def pytest_browsereval_add_graders(  # type: ignore[empty-body]
    config: pytest.Config, registry: Registry
) -> Sequence[GraderConfig]:
    """Called when a run is made: return advisory graders to be asked after those of config and rows."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_count_selected(active_run: ActiveRun) -> int | None:
    """Called for reports: return how many trials a run is to have, if you decide that; or None."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_cassettes(config: pytest.Config) -> CassetteSource | None:
    """Called once in each process: return what records or replays model calls and pages; or None."""


@pytest.hookspec
def pytest_browsereval_register(registry: Registry) -> None:
    """Called once for each plug-in when an eval is asked for, before any config is read.

    Register members with ``registry.register(MyAgentConfig)``, and readers of other systems' config files
    with ``registry.add_reader(reader)``. Called for built-ins first, then installed packages, then conftests;
    those next to and above a config are loaded before the config is read.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_modify_task(task: Task, config: EvalConfig) -> Task | None:
    """Called before each trial, on the loop's thread: return another task to run instead, or None.

    The row was checked already; use ``task.model_copy(update={...})``. A change of ``query_id``, ``graders``,
    ``depends_on`` or ``requires_reset`` makes the attempt *errored*: the run has already used them.
    """


# ---------------------------------------------------------------- during an attempt


@pytest.hookspec(firstresult=True)
def pytest_browsereval_record_window(
    eval_config: EvalConfig, folder: Path, redact: Callable[[str], str]
) -> AbstractAsyncContextManager[WindowRecording] | None:
    """Called on the loop's thread before a window opens: return what records it until its agent has ended.

    ``async with`` gives the recording, and saves it once the verdict is known, even if the attempt breaks.

    Args:
        eval_config: of the run.
        folder: of the attempt, which exists.
        redact: takes the run's secrets out of a text.
    """


@pytest.hookspec
def pytest_browsereval_prepare_window(  # noqa: PLR0917 hooks are called with keywords
    task: Task,
    graders: Sequence[GraderConfig],
    eval_config: EvalConfig,
    site_urls: Mapping[str, str],
    folder: Path,
    redact: Callable[[str], str],
) -> Callable[[Window], Awaitable[object]] | None:
    """Called on the loop's thread before a window opens: return an async function.

    It is called with the window while it is still empty. If it takes more than a minute, the attempt is
    *errored*.

    Args:
        task: its placeholders filled in.
        graders: of the row, filled in as well.
        eval_config: of the run.
        site_urls: base URLs of the sites that the row uses, by name.
        folder: of the attempt, which exists.
        redact: takes the run's secrets out of a text.
    """


@pytest.hookspec
def pytest_browsereval_window_opened(window: Window, task: Task) -> None:
    """Called when an attempt's window is at its start page, on the loop's thread."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_follow_attempt(
    capture: CaptureContext, task: Task, graders: Sequence[GraderConfig], eval_config: EvalConfig
) -> StepFollower | None:
    """Called on the loop's thread before the agent is built: return what looks at the page after each step.

    A look that takes more than a minute makes the attempt *errored*.

    Args:
        capture: of the attempt; its ``window`` is at the start page.
        task: its placeholders filled in.
        graders: of the row, filled in as well.
        eval_config: of the run.
    """


@pytest.hookspec
def pytest_browsereval_watch_agent(  # noqa: PLR0917 hooks are called with keywords
    window: Window,
    task: Task,
    graders: Sequence[GraderConfig],
    eval_config: EvalConfig,
    site_urls: Mapping[str, str],
    site_data: Mapping[str, Path],
    folder: Path,
    redact: Callable[[str], str],
) -> AbstractAsyncContextManager[object] | None:
    """Called on the loop's thread when the start page is ready: return an async context manager.

    It is entered then, and left when the agent and its program have ended, before the page is graded, even
    if the attempt breaks. Set time limits yourself. A ``Fault`` that it raises makes the attempt *errored*.

    Args:
        window: at the start page.
        task: its placeholders filled in.
        graders: of the row, filled in as well.
        eval_config: of the run.
        site_urls: base URLs of the sites that the row uses, by name.
        site_data: the copies of ``data`` that these have, by name.
        folder: of the attempt, which exists.
        redact: takes the run's secrets out of a text.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_create_agent(context: AgentContext) -> AgentEvaluator | None:
    """Called on the loop's thread to build the agent; None leaves it to the config block's ``build``.

    Executors of an orchestrator are built by their own block.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_tool_call(  # noqa: PLR0917 hooks are called with keywords
    name: str, arguments: dict[str, Any], task: Task, window: Window, node_id: str, call: GuardedCall
) -> str | Awaitable[str | None] | None:
    """Called before every tool call, on the loop's thread: return a reason to refuse it, or None.

    ``done`` is a tool as well. It is also asked about, at the end, for an answer that was given without it; a
    refusal takes the answer away. The agent reads the reason as the result (``ok: false``), and the call is
    recorded and counted. Arguments are checked already. An awaitable that is returned is awaited; no
    plug-in after it is called, so make such a hook ``trylast``. A hook that raises, takes more than
    five minutes, or has not answered when the attempt's time is over makes the attempt *errored*. A program
    that drives the browser without the tools (``cdp: true``) is not asked about.

    Args:
        name: of the tool.
        arguments: of the call.
        task: the row, its placeholders filled in.
        window: the attempt's.
        node_id: of its item.
        call: all of that for a guard, with the guards of the config, the recorder and the sites.
    """


@pytest.hookspec
def pytest_browsereval_message(node_id: str, message: Message) -> None:
    """Called for every message once it is on disk, on the loop's thread.

    A hook that raises makes the attempt *errored*.
    """


@pytest.hookspec(firstresult=True)
def pytest_browsereval_grade(grader: GraderConfig, recorded: Recorded) -> GraderResult | None:
    """Called on the loop's thread before a grader is asked; a result replaces the grader's."""


@pytest.hookspec(firstresult=True)
def pytest_browsereval_review_attempt(
    trial: Trial, session: Session, store: RunStore, folder: Path, node_id: str
) -> Awaitable[Probe | None] | None:
    """Called on the loop's thread when an attempt has failed, before it is recorded: return an awaitable.

    Its window is closed, and its sites are free. A ``Probe`` whose outcome is ``broken`` makes it *errored
    (site)*. The attempt's time does not include this. Not called in a replay, nor where a grader has vetoed.

    Args:
        trial: what was attempted.
        session: browser and sites of the process.
        store: the run in which the attempt is recorded.
        folder: of the attempt.
        node_id: of its item.
    """


# ---------------------------------------------------------------- after it


@pytest.hookspec
def pytest_browsereval_task_done(metadata: TaskMetadata, folder: Path) -> None:
    """Called in the main thread when a trial's item reports; under xdist, in the worker."""


@pytest.hookspec
def pytest_browsereval_run_summary(summary: RunSummary, run_folder: Path) -> None:
    """Called once for each config after all items, where the gate is decided: under xdist, the controller."""
