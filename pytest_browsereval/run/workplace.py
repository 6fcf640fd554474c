"""Builds the context of an agent: its window's recorder, its tools, who is asked before it calls them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.agents.base import AgentConfig, AgentContext
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.capture.sizes import MAX_MESSAGE_BYTES
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import PluginError
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.behaviour import CallGuard
from pytest_browsereval.tools.base import ToolContext
from pytest_browsereval.tools.runner import runner_for
from pytest_browsereval.tools.toolbox import Toolbox


def open_capture(
    config: EvalConfig,
    window: Window,
    folder: Path,
    *,
    redact: Callable[[str], str],
    on_message: Callable[[Message], object] | None = None,
) -> CaptureContext:
    """Return the recorder of a window, as the config wants it.

    Args:
        config: its ``capture`` and ``limits`` are used.
        window: what is recorded.
        folder: the attempt's folder, which exists.
        redact: replaces secrets in what is written.
        on_message: called with every message after it is written.
    """
    capture, limits = config.capture, config.limits
    settings = CaptureContextConfig(
        folder=folder,
        screenshots=capture.screenshots,
        picture=capture.format,
        quality=capture.quality,
        dom=capture.dom,
        max_tokens=limits.max_tokens,
        max_cost_usd=limits.max_cost_usd,
        max_message_bytes=limits.max_message_bytes or MAX_MESSAGE_BYTES,
        redact=redact,
        on_message=on_message,
    )
    return CaptureContext(settings, window)


def agent_context(
    run: ActiveRun,
    agent: AgentConfig,
    variant: str,
    known: ToolContext,
    sites: Collection[str],
    *,
    capture: CaptureContext,
    output_dir: Path,
) -> AgentContext:
    """Return the context that an agent is built with, in the window that the capture records.

    Args:
        run: its tools are offered, and its limits hold.
        agent: the agent's own block.
        variant: its name.
        known: what it and its tools may know of the attempt.
        sites: which the row uses: some tools are for those only.
        capture: records the attempt.
        output_dir: the run's folder.
    """
    window, limits = capture.window, run.config.limits
    tools = run.toolsets.tools_for(variant, sites)
    return AgentContext(
        config=agent,
        task=known.task,
        window=window,
        tools=Toolbox(tools, runner_for(window), capture, context=known, max_steps=limits.max_steps),
        capture=capture,
        output_dir=output_dir,
        task_output_dir=known.folder,
        base_dir=known.base_dir,
        timeout_s=limits.timeout_ms / 1000,
        kits=run.toolsets.kits_for(sites),
        variables=known.variables,
        files=known.files,
    )


def guard_calls(
    run: ActiveRun, known: ToolContext, capture: CaptureContext, node_id: str
) -> CallGuard | None:
    """Return what asks plug-ins and guards before each call of an attempt; None if there are none.

    Args:
        run: whose plug-ins and guards are asked.
        known: what tools may know of the attempt.
        capture: records it.
        node_id: of its item.
    """
    if (ask := run.behaviour.tool_call) is None:
        return None
    return CallGuard(ask, node_id, known.task, capture.window, capture, run.config.guards, known.site_urls)


def read_figures(window: Window) -> Mapping[str, Any]:
    """Return the keys of the record that a window knows.

    Raises:
        PluginError: the record has no such key.
    """
    figures = window.figures
    if unknown := sorted(figures.keys() - TaskMetadata.model_fields.keys()):
        raise PluginError(
            f"{type(window).__name__}.figures has {unknown[0]!r}, which is not a key of a record"
        )
    return figures
