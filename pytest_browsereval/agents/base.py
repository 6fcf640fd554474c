"""What an agent is: a config block that builds an evaluator, which executes one attempt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.registry import Component
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.switches import SwitchBlock
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit


@dataclass(frozen=True)
class AgentContext:
    """All that an agent needs; handed to ``AgentConfig.build``."""

    config: AgentConfig
    """The agent's own block."""
    task: Task
    """Its ``start_url`` is absolute: placeholders of sites are filled in. An executor's ``query`` is the
    delegated goal, and its ``start_url`` is where the window is then."""
    window: Window
    """The window that the attempt works in, at its start page."""
    tools: Toolbox
    """The tools that are switched on; calls through it are recorded, counted and limited."""
    capture: CaptureContext
    """Records what is not a tool call: texts, usage, warnings."""
    output_dir: Path
    """The run's folder."""
    task_output_dir: Path
    """The attempt's folder, which exists."""
    base_dir: Path
    """The folder of the eval config, which paths in the block are relative to."""
    timeout_s: float = 1_800.0
    """How long the attempt may take, for programs that set a limit of their own."""
    kits: tuple[Toolkit, ...] = ()
    """The toolkits of the run, which say what a model reads about its tools."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of the config's ``variables`` that are set: passwords, for example. Records never contain
    them. Empty for a row whose dataset is not ``trusted``, because the row chooses the page."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """The paths of the row's files, by their names in the row."""

    @property
    def max_steps(self) -> int | None:
        """How many steps the attempt may take; the toolbox enforces it."""
        return self.tools.max_steps

    @property
    def window_id(self) -> int:
        """The window's number."""
        return self.window.window_id

    @property
    def tab_id(self) -> int:
        """The current tab's number."""
        return self.window.tab_id


class AgentEvaluator(ABC):
    """Executes one attempt."""

    @abstractmethod
    async def execute(self) -> AgentResult:
        """Work until done. It is cancelled when its time is over.

        Raises:
            Fault: something other than the agent's work broke, a provider for example.
            LimitReached: steps, tokens or money ran out. Do not catch it: after it, calls and requests are
                refused, and an answer does not count.
        """


class AgentConfig(Component):
    """Base of the agent family's members."""

    family: ClassVar[str] = "agent"

    tools: SwitchBlock | None = None
    """Switches of this agent alone, by the name of a tool or a toolkit; they override the run's. ``only:
    [click, snapshot]`` replaces the run's."""

    def needs(self) -> Needs:
        """Return what it needs from the run: ``cdp``, ``tools``, and whether its calls stay ``unrecorded``.

        A run that does not offer this is refused before anything is spent.
        """
        return Needs()

    @abstractmethod
    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        raise NotImplementedError

    def preflight(self, base_dir: Path) -> None:
        """Check before anything is spent what can be checked: keys, files, callables.

        Args:
            base_dir: the folder of the eval config.

        Raises:
            ConfigError: with what to type next.
        """

    def check(self, task: Task, tools: Mapping[str, Tool]) -> None:
        """Check before anything is spent that this agent can work on this row.

        Args:
            task: the row; placeholders of sites may still be in it.
            tools: the tools that will be switched on, by name.

        Raises:
            ValueError: the row lacks something or holds something wrong; the message says what to write.
        """

    def check_tools(self, tools: Mapping[str, Tool], kits: Sequence[Toolkit]) -> tuple[str, ...]:
        """Check before anything is spent what the block says about tools.

        Args:
            tools: the tools that are switched on, by name.
            kits: the toolkits of the run.

        Returns:
            What a reader of the run should know, one sentence each.

        Raises:
            ValueError: it names something that does not exist; the message says what to write.
        """
        return ()

    def label(self) -> str:
        """Return a short name for header and report."""
        return self.type
