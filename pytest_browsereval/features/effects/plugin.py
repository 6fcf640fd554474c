"""Watches the state of sites where a row has effects, and refuses what cannot be told apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.graders.nested import unfold

if TYPE_CHECKING:
    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.graders.base import GraderConfig
    from pytest_browsereval.model.tasks import Task
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse sites whose state cannot be read, or has changes of several attempts, and a rule without any."""
    config = active_run.config
    has_rule = any(rule.type == "max_side_effects" for rule in config.gate.rules)
    if has_rule or any(site.state is not None for site in config.sites.values()):
        from pytest_browsereval.features.effects.checks import check_states

        check_states(config)


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
    """Keep what an attempt changes, where its row says what is to change."""
    if not any(one.reads.effects for grader in graders for one in unfold(grader)):
        return None
    from pytest_browsereval.features.effects.grader import keep_differences
    from pytest_browsereval.features.effects.reading import Source

    sources = [
        Source(name, site, site.state, site_urls, site_data.get(name), eval_config.base_dir, window)
        for name, site in eval_config.sites.items()
        if name in site_urls and site.state is not None
    ]
    return keep_differences(task, sources, folder, redact)


def pytest_browsereval_task_done(folder: Path) -> None:
    """Let go of what changed in an attempt at a protected row, once it is graded."""
    if grader := sys.modules.get("pytest_browsereval.features.effects.grader"):
        grader.UNSAVED.pop(folder, None)


def pytest_browsereval_sum_up(run: StoredRun) -> Mapping[str, Any]:
    """Return how many judged trials had side effects, by row and by kind."""
    from pytest_browsereval.features.effects.figures import sum_up_side_effects

    found = sum_up_side_effects(run)
    return {"side_effects": found} if found else {}


def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:
    """Return the line that says it."""
    found = pytest_browsereval_sum_up(run)
    return [f"side effects: {found['side_effects']['line']}"] if found else []
