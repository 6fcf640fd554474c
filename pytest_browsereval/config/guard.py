"""Guards: what is asked before each tool call of an agent, and before its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Component
from pytest_browsereval.tools.base import SetsOff


@dataclass(frozen=True)
class GuardedCall:
    """A tool call that is about to be made; an answer is the tool ``done`` with the argument ``answer``."""

    tool: str
    arguments: Mapping[str, Any]
    """As the tool takes them: checked, with defaults filled in."""
    task: Task
    """The row, its placeholders filled in: ``query`` is what the user asks for."""
    window: Window
    """The attempt's: ``url`` is the address of the current page."""
    capture: CaptureContext
    """Records the attempt."""
    guards: tuple[GuardConfig, ...]
    """Those of the config."""
    site_urls: Mapping[str, str]
    """The base URLs of the config's sites that the row uses, by name."""
    sets_off: SetsOff = ""
    """How the tool may trigger something in the page, as it declares itself."""
    asked: list[str] = field(default_factory=list, compare=False, repr=False)
    """Who was asked so far, as messages name them; the last one may not have answered yet."""


class GuardConfig(Component):
    """Base of all guards: ``guards: [TYPE]`` in a config.

    The guards of a config are asked in their order; the first reason refuses the call.
    """

    family: ClassVar[str] = "guard"

    def check(self, call: GuardedCall) -> str | Awaitable[str | None] | None:
        """Return a reason to refuse the call, which the agent reads; None lets it pass.

        It may be ``async def``, to look at the page for example. The agent waits meanwhile, and that time is
        part of the attempt's: a guard that has not answered when this is over makes the attempt *errored*.

        Raises:
            Exception: anything that it raises makes the attempt *errored*.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no `check`")
